// Programs that the tests run as processes of their own, since settings are read once a process.
// usage: vgpu_core_child NAME [ARGUMENT…]; exit status 0: what NAME promises holds.
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

#include "core_test_support.hpp"

namespace braid::vgpu::testing {
namespace {

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                            \
    }                                                                      \
  } while (false)
#define CHECK_CUDA(call) CHECK((call) == CUDA_SUCCESS)

int start(int device = 0) {
  CUcontext context = nullptr;
  CHECK_CUDA(cuInit(0));
  CHECK_CUDA(cuDevicePrimaryCtxRetain(&context, device));
  CHECK_CUDA(cuCtxSetCurrent(context));
  return 0;
}

// Prints "blocked" when work of a second stream cannot pass a waiting one, else "free".
int queue_head() {
  CHECK(start() == 0);
  const Buffer buffer(1);
  CUstream waiting = make_stream();
  CUstream other = make_stream();
  Latch latch;
  CHECK_CUDA(latch.hold(waiting));
  CHECK_CUDA(launch_store(other, buffer.address(), 1));
  bool passed = false;
  for (int i = 0; i < 100 && !passed; ++i) {
    passed = cuStreamQuery(other) == CUDA_SUCCESS;
    usleep(500);
  }
  std::printf("%s\n", passed ? "free" : "blocked");
  latch.open();
  CHECK_CUDA(cuStreamSynchronize(other));
  CHECK(buffer.read()[0] == 1);
  return 0;
}

// One stream writes, another reads; with or without an event between. Prints how often the reader
// was early.
int reader(bool ordered) {
  CHECK(start() == 0);
  const Buffer buffer(2);
  CUstream a = make_stream();
  CUstream b = make_stream();
  CUevent event = nullptr;
  CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  int early = 0;
  for (int i = 1; i <= 40; ++i) {
    CHECK_CUDA(launch_store(a, buffer.at(0), i));
    CHECK_CUDA(cuEventRecord(event, a));
    if (ordered) {
      CHECK_CUDA(cuStreamWaitEvent(b, event, 0));
    }
    CHECK_CUDA(launch_add(b, buffer.at(1), buffer.at(0), 0));
    CHECK_CUDA(cuCtxSynchronize());
    early += buffer.read()[1] == i ? 0 : 1;
  }
  std::printf("%d\n", early);
  return 0;
}

// A random program whose order is complete: whatever the scheduler does, the result is that of
// running it line by line.
int random_program(unsigned seed) {
  CHECK(start() == 0);
  constexpr size_t kStreams = 6;
  std::mt19937 random(seed);
  const Buffer buffer(kStreams);
  std::vector<CUstream> streams = {nullptr, make_stream(CU_STREAM_DEFAULT)};
  while (streams.size() < kStreams) {
    streams.push_back(make_stream(CU_STREAM_NON_BLOCKING, -static_cast<int>(random() % 6)));
  }
  CUevent event = nullptr;
  CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  std::vector<int> expected(kStreams, 0);
  for (int step = 0; step < 300; ++step) {
    const size_t s = random() % kStreams;
    const size_t t = random() % kStreams;
    const int k = static_cast<int>(random() % 9);
    if (s == t) {
      CHECK_CUDA(launch_add(streams[s], buffer.at(s), buffer.at(s), k));
      expected[s] += k;
      continue;
    }
    // s reads what t wrote, and t writes again only after that.
    CHECK_CUDA(cuEventRecord(event, streams[t]));
    CHECK_CUDA(cuStreamWaitEvent(streams[s], event, 0));
    CHECK_CUDA(launch_add(streams[s], buffer.at(s), buffer.at(t), k));
    CHECK_CUDA(cuEventRecord(event, streams[s]));
    CHECK_CUDA(cuStreamWaitEvent(streams[t], event, 0));
    expected[s] = expected[t] + k;
  }
  CHECK_CUDA(cuCtxSynchronize());
  CHECK(buffer.read() == expected);
  return 0;
}

// Work that waits for something keeps its SM shares; what needs more than are left does not start.
int shares() {
  CHECK(start() == 0);
  std::atomic<bool> release{false};
  std::atomic<int> started{0};
  const auto make_work = [&](int count, bool waits) {
    Work work;
    work.name = "test";
    work.shares = count;
    auto first = std::make_shared<bool>(true);
    work.step = [&, waits, first] {
      if (*first) {
        *first = false;
        ++started;
      }
      return waits && !release ? Step::kPending : Step::kDone;
    };
    return work;
  };
  CUstream a = make_stream(), b = make_stream(), c = make_stream();
  WorkHandle large, small;
  CHECK_CUDA(enqueue(a, make_work(3, true)));
  CHECK_CUDA(enqueue(b, make_work(2, false), &large));
  CHECK_CUDA(enqueue(c, make_work(1, false), &small));
  CHECK_CUDA(synchronize(c));
  CHECK(is_done(small) && !is_done(large) && started == 2);
  release = true;
  CHECK_CUDA(synchronize(b));
  CHECK(is_done(large) && started == 3);
  CHECK_CUDA(enqueue(a, make_work(1000, false)));  // more than there are: all
  CHECK_CUDA(synchronize(a));
  return 0;
}

// Memory freed in another stream while a copy waits: a sticky error.
int illegal_access() {
  CHECK(start() == 0);
  CUstream a = make_stream(), b = make_stream();
  CUdeviceptr p = 0, q = 0;
  void* pinned = nullptr;
  CHECK_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  CHECK_CUDA(cuMemAllocAsync(&p, 64, b));
  CHECK_CUDA(cuStreamSynchronize(b));
  cuuint32_t* flag = static_cast<cuuint32_t*>(pinned);
  *flag = 0;
  CHECK_CUDA(cuStreamWaitValue32(a, reinterpret_cast<CUdeviceptr>(flag), 1, 1));
  CHECK_CUDA(cuMemsetD8Async(p, 0, 64, a));
  CHECK_CUDA(cuMemFreeAsync(p, b));
  CHECK_CUDA(cuStreamSynchronize(b));
  __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
  CHECK(cuStreamSynchronize(a) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuMemAlloc(&q, 64) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuMemsetD8Async(p, 0, 64, b) == CUDA_ERROR_ILLEGAL_ADDRESS);
  return start(1);  // the other devices go on
}

int hold_memory(const char* ready) {
  CHECK(start() == 0);
  CUdeviceptr p = 0;
  CHECK_CUDA(cuMemAlloc(&p, 48 << 20));
  std::ofstream(ready) << "ready";
  pause();
  return 1;
}

// Opens the memory and the event that another process wrote handles of, waits for the event,
// adds 1.
int open_shared(const char* path) {
  CHECK(start(1) == 0);
  CUipcMemHandle memory;
  CUipcEventHandle event_handle;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&memory), sizeof(memory));
  file.read(reinterpret_cast<char*>(&event_handle), sizeof(event_handle));
  CHECK(file.good());
  CUdeviceptr p = 0;
  CUevent event = nullptr;
  CHECK_CUDA(cuIpcOpenMemHandle(&p, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CHECK_CUDA(cuIpcOpenEventHandle(&event, event_handle));
  CHECK_CUDA(check_access(1, reinterpret_cast<void*>(p), sizeof(int)));
  CUstream stream = make_stream();
  CHECK_CUDA(cuStreamWaitEvent(stream, event, 0));
  CHECK_CUDA(launch_add(stream, p, p, 1));
  CHECK_CUDA(cuStreamSynchronize(stream));
  CHECK_CUDA(cuIpcCloseMemHandle(p));
  CHECK(check_access(1, reinterpret_cast<void*>(p), sizeof(int)) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuMemFree(p) == CUDA_ERROR_INVALID_VALUE);  // not ours
  return 0;
}

// Ends while work waits for what never comes, as programs do that return from main early.
int exit_with_pending_work() {
  CHECK(start() == 0);
  std::atexit([] {
    CUdevice device = -1;
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS || device != 0) {
      _exit(3);
    }
  });
  CUstream stream = make_stream();
  static cuuint32_t* flag = nullptr;
  void* pinned = nullptr;
  CHECK_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  flag = static_cast<cuuint32_t*>(pinned);
  *flag = 0;
  CHECK_CUDA(cuLaunchHostFunc(
      make_stream(), [](void*) { pause(); }, nullptr));
  CHECK_CUDA(cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(flag), 1, 1));
  CHECK_CUDA(cuLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  std::exit(0);
}

// A fork child gets errors and does not hang, also when the parent's threads hold locks.
int fork_child() {
  CHECK(start() == 0);
  const Buffer buffer(1);
  std::atomic<bool> stop{false};
  CUcontext context = nullptr;
  CHECK_CUDA(cuCtxGetCurrent(&context));
  std::thread busy([&] {
    cuCtxSetCurrent(context);
    CUstream stream = make_stream();
    while (!stop) {
      launch_add(stream, buffer.address(), buffer.address(), 1);
      cuStreamSynchronize(stream);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      CUdeviceptr p = 0;
      CUdevice device = 0;
      const bool right = cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
                         cuMemAlloc(&p, 64) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuCtxGetDevice(&device) == CUDA_ERROR_NOT_INITIALIZED &&
                         enqueue(nullptr, {}) == CUDA_ERROR_NOT_INITIALIZED &&
                         !find_allocation(buffer.address()) && !is_stream(nullptr);
      _exit(right ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
  CHECK_CUDA(cuCtxSynchronize());
  return 0;
}

int no_device() {
  int count = 0;
  CHECK(cuInit(0) == CUDA_ERROR_NO_DEVICE);
  CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(box_error().has_value());
  std::printf("%s\n", box_error()->text().c_str());
  return 0;
}

int unknown_kernel() {
  CHECK(start() == 0);
  CHECK_CUDA(
      cuLaunchKernel(find_function("mystery"), 2, 3, 4, 5, 1, 1, 0, nullptr, nullptr, nullptr));
  CHECK_CUDA(cuCtxSynchronize());
  return 0;
}

int loaded_kernel() {
  CHECK(start() == 0);
  const Buffer buffer(1);
  CUdeviceptr target = buffer.address();
  void* arguments[] = {&target};
  CHECK_CUDA(cuLaunchKernel(find_function("sample_answer"), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments,
                            nullptr));
  CHECK(buffer.read()[0] == 42);
  return 0;
}

int no_compute() {
  CHECK(start() == 0);
  CUdeviceptr p = 0;
  CHECK_CUDA(cuMemAlloc(&p, 32 << 20));
  CHECK_CUDA(cuMemsetD8(p, 1, 32 << 20));
  int value = 7;
  CHECK_CUDA(cuMemcpyDtoH(&value, p, 4));
  CHECK(value == 7);
  return 0;
}

// Everything the environment gives: printed for the test to compare.
int describe() {
  CHECK(start() == 0);
  for (const DeviceInfo& device : devices()) {
    std::printf("%s %s %d %d %zu\n", device.bus_id.c_str(), device.name.c_str(),
                device.compute_capability, device.sm_count, device.memory_bytes);
  }
  return 0;
}

int run(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const char* argument = argc > 2 ? argv[2] : "";
  if (name == "queue-head") return queue_head();
  if (name == "racy-reader") return reader(false);
  if (name == "ordered-reader") return reader(true);
  if (name == "random-program") return random_program(static_cast<unsigned>(std::atoi(argument)));
  if (name == "shares") return shares();
  if (name == "illegal-access") return illegal_access();
  if (name == "hold-memory") return hold_memory(argument);
  if (name == "open-shared") return open_shared(argument);
  if (name == "exit-with-pending-work") return exit_with_pending_work();
  if (name == "fork-child") return fork_child();
  if (name == "no-device") return no_device();
  if (name == "unknown-kernel") return unknown_kernel();
  if (name == "loaded-kernel") return loaded_kernel();
  if (name == "no-compute") return no_compute();
  if (name == "describe") return describe();
  std::fprintf(stderr, "unknown program '%s'\n", name.c_str());
  return 2;
}

}  // namespace
}  // namespace braid::vgpu::testing

int main(int argc, char** argv) { return braid::vgpu::testing::run(argc, argv); }
