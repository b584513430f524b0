// A training loop reduced to the pair braid looks for, and everything that may come in its way.
//
//   pair_program SCENARIO [--ranks N] [--steps N] [--stream own|compute] [--type fp32|bf16]
//   [--process]
//
// Every rank multiplies, then all ranks AllReduce the product, step after step. The numbers are
// small integers, so that no order of sums changes a bit: whatever a tool does with the calls, the
// hash printed must be that of a plain run. With --process the rank comes from RANK and WORLD_SIZE
// and the unique id through the file named by ID_FILE; else ranks are threads.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                          \
  do {                                                                       \
    const auto status = (call);                                              \
    if (static_cast<int>(status) != 0) {                                     \
      std::fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, \
                   static_cast<int>(status));                                \
      std::_Exit(1);                                                         \
    }                                                                        \
  } while (0)

namespace {

struct Options {
  std::string scenario = "normal";
  int ranks = 2;
  int steps = 24;
  bool own_stream = true;
  bool bf16 = false;
  bool process = false;
  bool group = false;
  bool exit_early = false;
  bool resources = false;
};

constexpr int kColumns = 64;  // of the row-major product
constexpr int kInner = 64;
constexpr int kRows = 128;

// What this process holds of the machine now.
void print_resources(int step) {
  int threads = 0;
  int resident = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::sscanf(line.c_str(), "Threads: %d", &threads);
    std::sscanf(line.c_str(), "RssAnon: %d", &resident);
  }
  int descriptors = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++descriptors;
  }
  std::printf("resources at %d: threads %d descriptors %d resident %d KiB\n", step, threads,
              descriptors, resident);
}

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Small integers: products and sums over 64 terms and 8 ranks stay exact in fp32; for bf16, which
// holds integers up to 256, most entries are zero.
float small_integer(uint64_t seed, bool sparse) {
  const uint64_t h = mix(seed);
  if (sparse && (h >> 8) % 16 != 0) {
    return 0.0f;
  }
  return static_cast<float>(static_cast<int>(h % 3) - 1);
}

class Rank {
 public:
  Rank(const Options& options, int rank, int ranks)
      : options_(options), rank_(rank), ranks_(ranks) {
    element_ = options.bf16 ? 2 : 4;
    CHECK(cudaSetDevice(rank));
    CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    if (!options.own_stream) {
      CHECK(cudaStreamDestroy(side_));
      side_ = compute_;
    }
    CHECK(cudaStreamCreateWithFlags(&third_, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&reduced_, cudaEventDisableTiming));
    CHECK(cublasCreate(&blas_));
    CHECK(cublasSetStream(blas_, compute_));
    weight_ = allocate(kColumns * kInner);
    input_ = allocate(2 * kRows * kInner);
    product_ = allocate(kRows * kColumns);
    sum_ = allocate(kRows * kColumns);
    spare_ = allocate(kRows * kColumns);
    CHECK(cudaMemset(spare_, 0, kRows * kColumns * element_));
    log_ = allocate(kRows * kColumns);
    CHECK(cudaHostAlloc(&host_, kRows * kInner * 4, 0));
  }

  void join(const ncclUniqueId& id, ncclComm_t* comm) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (options_.scenario == "nonblocking") {
      config.blocking = 0;
    }
    if (options_.scenario == "init_retry" && rank_ == ranks_ - 1) {
      ncclConfig_t wrong = NCCL_CONFIG_INITIALIZER;
      wrong.minCTAs = -5;
      if (ncclCommInitRankConfig(comm, ranks_, id, rank_, &wrong) == ncclSuccess) {
        std::_Exit(4);
      }
    }
    ncclResult_t result = ncclCommInitRankConfig(comm, ranks_, id, rank_, &config);
    while (result == ncclInProgress) {
      CHECK(ncclCommGetAsyncError(*comm, &result));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (result != ncclSuccess) {
      std::printf("init failed: %s\n", ncclGetLastError(nullptr));
      std::fflush(stdout);
      std::_Exit(3);
    }
  }

  uint64_t run(ncclComm_t first, ncclComm_t second) {
    upload(weight_, kColumns * kInner, 1);
    CHECK(cudaMemsetAsync(sum_, 0, kRows * kColumns * element_, compute_));
    CHECK(cudaStreamSynchronize(compute_));
    for (int step = 0; step < options_.steps; ++step) {
      run_step(step, first, second);
      if (options_.resources && rank_ == 0 && step > 0 && step % 500 == 499) {
        print_resources(step + 1);
      }
      if (options_.scenario == "killed" && rank_ == 1 && step == options_.steps / 2) {
        CHECK(cudaStreamSynchronize(side_));
        raise(9);
      }
    }
    return hash_;
  }

  void leave(ncclComm_t comm) {
    if (!options_.exit_early) {
      CHECK(ncclCommDestroy(comm));
    }
  }

 private:
  void* allocate(size_t elements) {
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, elements * element_));
    return pointer;
  }

  void upload(void* device, int elements, uint64_t seed) {
    CHECK(cudaStreamSynchronize(compute_));
    for (int i = 0; i < elements; ++i) {
      const float value = small_integer(
          seed * 1000003 + static_cast<uint64_t>(rank_) * 7919 + static_cast<uint64_t>(i),
          options_.bf16);
      if (options_.bf16) {
        reinterpret_cast<__nv_bfloat16*>(host_)[i] = __float2bfloat16(value);
      } else {
        reinterpret_cast<float*>(host_)[i] = value;
      }
    }
    CHECK(cudaMemcpyAsync(device, host_, elements * element_, cudaMemcpyHostToDevice, compute_));
  }

  void multiply(void* output, int rows, float accumulate = 0.0f) {
    const float one = 1.0f;
    const cudaDataType_t type = options_.bf16 ? CUDA_R_16BF : CUDA_R_32F;
    CHECK(cublasGemmEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, kColumns, rows, kInner, &one, weight_, type,
                       kColumns, input_, type, kInner, &accumulate, output, type, kColumns,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  void reduce(ncclComm_t comm, void* output, int rows) {
    if (options_.group) {
      CHECK(ncclGroupStart());
    }
    ncclResult_t result =
        ncclAllReduce(product_, output, static_cast<size_t>(rows) * kColumns,
                      options_.bf16 ? ncclBfloat16 : ncclFloat32, ncclSum, comm, side_);
    while (result == ncclInProgress) {
      CHECK(ncclCommGetAsyncError(comm, &result));
    }
    CHECK(result);
    if (options_.group) {
      CHECK(ncclGroupEnd());
    }
  }

  // A small collective that no GEMM feeds.
  void reduce_spare(ncclComm_t comm, cudaStream_t stream) {
    CHECK(ncclAllReduce(spare_, spare_, 64, ncclFloat32, ncclSum, comm, stream));
  }

  // The ways a program may leave the common path for a call; true when the step's collective is
  // made.
  bool reduce_specially(int step, ncclComm_t comm, void* output, int rows) {
    const std::string& scenario = options_.scenario;
    if (scenario == "simulate" && step % 5 == 4) {
      ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
      CHECK(ncclGroupStart());
      reduce(comm, output, rows);
      CHECK(ncclGroupSimulateEnd(&info));
    } else if (scenario == "bad_call" && step == 1 && rank_ == 0) {
      if (ncclBroadcast(product_, output, 16, ncclFloat32, 99, comm, side_) == ncclSuccess) {
        std::_Exit(4);
      }
    } else if (scenario == "group_on_one_rank") {
      const bool grouped = rank_ == 0;
      CHECK(grouped ? ncclGroupStart() : ncclSuccess);
      reduce(comm, output, rows);
      reduce_spare(comm, side_);
      CHECK(grouped ? ncclGroupEnd() : ncclSuccess);
      return true;
    } else if (scenario == "group_two_streams") {
      // The group ties the streams together: the sum may be read on the other one.
      CHECK(ncclGroupStart());
      reduce(comm, output, rows);
      reduce_spare(comm, third_);
      CHECK(ncclGroupEnd());
      CHECK(cudaMemcpyAsync(log_, output, rows * kColumns * element_, cudaMemcpyDeviceToDevice,
                            third_));
      CHECK(cudaStreamSynchronize(third_));
      return true;
    }
    return false;
  }

  void hand_over() {
    if (side_ != compute_) {
      CHECK(cudaEventRecord(ready_, compute_));
      CHECK(cudaStreamWaitEvent(side_, ready_, 0));
    }
  }

  void take_back() {
    if (side_ != compute_) {
      CHECK(cudaEventRecord(reduced_, side_));
      CHECK(cudaStreamWaitEvent(compute_, reduced_, 0));
    }
  }

  void run_step(int step, ncclComm_t first, ncclComm_t second) {
    const std::string& scenario = options_.scenario;
    const size_t bytes = kRows * kColumns * element_;
    const int rows = scenario == "shapes" ? kRows - 8 * (step % 5) : kRows;
    ncclComm_t comm = scenario == "two_comms" && step % 2 == 1 ? second : first;
    void* output = sum_;
    upload(input_, kRows * kInner, 100 + static_cast<uint64_t>(step));
    if (scenario == "slow_rank" && rank_ == ranks_ - 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    if (scenario == "gemm_alone" && rank_ == 0 && step % 3 == 1) {
      multiply(spare_, rows);
      multiply(product_, rows);
    }
    if (scenario == "prior_work") {
      // The collective's stream still reads the last sum when the product is ready.
      CHECK(cudaMemcpyAsync(log_, sum_, bytes, cudaMemcpyDeviceToDevice, side_));
    }
    if (scenario == "thread_between") {
      // Another thread's work goes somewhere between the parts, and is over before the hand-over.
      std::thread other([&] {
        CHECK(cudaSetDevice(rank_));
        CHECK(cudaMemcpyAsync(log_, sum_, bytes, cudaMemcpyDeviceToDevice, compute_));
      });
      multiply(product_, rows);
      other.join();
    } else {
      multiply(product_, rows);
    }
    if (scenario == "memset_between") {
      CHECK(cudaMemsetAsync(static_cast<char*>(product_) + bytes / 2, 0, bytes / 4, compute_));
    } else if (scenario == "gemm_between") {
      multiply(product_, rows, 1.0f);
    } else if (scenario == "output_reused") {
      CHECK(cudaMemsetAsync(spare_, 0, bytes, compute_));
      CHECK(cudaMemcpyAsync(product_, spare_, bytes / 2, cudaMemcpyDeviceToDevice, compute_));
    } else if (scenario == "receive_overlaps_operand") {
      // As an allocator does that reuses part of a block at once: what the first part of the sum
      // writes is what the last part of the GEMM still reads.
      output = static_cast<char*>(input_) + bytes / 2;
    } else if (scenario == "in_place") {
      output = product_;
    }
    if (scenario == "other_device") {
      CHECK(cudaEventRecord(ready_, compute_));
      CHECK(cudaSetDevice((rank_ + 1) % ranks_));
      CHECK(cudaStreamWaitEvent(side_, ready_, 0));
      CHECK(cudaSetDevice(rank_));
    } else {
      hand_over();
    }
    if (scenario == "work_after_wait" && side_ != compute_) {
      // Between the wait and the collective: the product changes on the collective's own stream.
      CHECK(cudaMemsetAsync(product_, 0, bytes / 2, side_));
    }
    const bool skipped = scenario == "skipped" && step % 5 == 3;
    if (scenario == "other_device") {
      CHECK(cudaSetDevice((rank_ + 1) % ranks_));
    }
    if (!skipped && !reduce_specially(step, comm, output, rows)) {
      reduce(comm, output, rows);
    }
    CHECK(cudaSetDevice(rank_));
    if (scenario == "doubled" && step % 4 == 2) {
      reduce(comm, output, rows);
    }
    take_back();
    collect(output);
    if (scenario == "prior_work" || scenario == "group_two_streams" ||
        scenario == "thread_between") {
      collect(log_);
    }
  }

  // The result is read by a stream-ordered copy right after, as the next layer would.
  void collect(void* output) {
    const size_t bytes = kRows * kColumns * element_;
    CHECK(cudaMemcpyAsync(host_, output, bytes, cudaMemcpyDeviceToHost, compute_));
    CHECK(cudaStreamSynchronize(compute_));
    const auto* data = static_cast<const unsigned char*>(host_);
    for (size_t i = 0; i < bytes; i += 4) {
      uint32_t word = 0;
      std::memcpy(&word, data + i, 4);
      hash_ = (hash_ ^ word) * 0x100000001b3ull;
    }
  }

  Options options_;
  int rank_;
  int ranks_;
  size_t element_ = 4;
  uint64_t hash_ = 0xcbf29ce484222325ull;
  cudaStream_t compute_ = nullptr;
  cudaStream_t side_ = nullptr;
  cudaStream_t third_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  cudaEvent_t reduced_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  void* weight_ = nullptr;
  void* input_ = nullptr;
  void* product_ = nullptr;
  void* sum_ = nullptr;
  void* spare_ = nullptr;
  void* log_ = nullptr;
  void* host_ = nullptr;
};

// Ids of rank 0, handed to the other processes through a file.
void exchange_ids(int rank, ncclUniqueId ids[2]) {
  const char* path = std::getenv("ID_FILE");
  if (path == nullptr) {
    std::fprintf(stderr, "--process needs ID_FILE\n");
    std::_Exit(2);
  }
  const std::string name(path);
  if (rank == 0) {
    std::ofstream(name + ".part", std::ios::binary)
        .write(reinterpret_cast<char*>(ids), 2 * sizeof(ncclUniqueId));
    CHECK(std::rename((name + ".part").c_str(), name.c_str()));
    return;
  }
  for (;;) {
    std::ifstream in(name, std::ios::binary);
    if (in && in.read(reinterpret_cast<char*>(ids), 2 * sizeof(ncclUniqueId))) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

uint64_t run_rank(const Options& options, int rank, int ranks, const ncclUniqueId ids[2]) {
  Rank worker(options, rank, ranks);
  ncclComm_t comms[2] = {};
  worker.join(ids[0], &comms[0]);
  worker.join(ids[1], &comms[1]);
  const uint64_t hash = worker.run(comms[0], comms[1]);
  worker.leave(comms[0]);
  worker.leave(comms[1]);
  return hash;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (argument == "--ranks") {
      options.ranks = std::stoi(value());
    } else if (argument == "--steps") {
      options.steps = std::stoi(value());
    } else if (argument == "--stream") {
      options.own_stream = value() == "own";
    } else if (argument == "--type") {
      options.bf16 = value() == "bf16";
    } else if (argument == "--process") {
      options.process = true;
    } else if (argument == "--group") {
      options.group = true;
    } else if (argument == "--resources") {
      options.resources = true;
    } else if (argument == "--exit-early") {
      options.exit_early = true;
    } else {
      options.scenario = argument;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  ncclUniqueId ids[2];
  if (options.process) {
    const int rank = std::atoi(std::getenv("RANK"));
    const int ranks = std::atoi(std::getenv("WORLD_SIZE"));
    if (rank == 0) {
      CHECK(ncclGetUniqueId(&ids[0]));
      CHECK(ncclGetUniqueId(&ids[1]));
    }
    exchange_ids(rank, ids);
    std::printf("rank %d hash %016llx\n", rank,
                static_cast<unsigned long long>(run_rank(options, rank, ranks, ids)));
    return 0;
  }
  CHECK(ncclGetUniqueId(&ids[0]));
  CHECK(ncclGetUniqueId(&ids[1]));
  std::vector<uint64_t> hashes(static_cast<size_t>(options.ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      hashes[static_cast<size_t>(rank)] = run_rank(options, rank, options.ranks, ids);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    std::printf("rank %d hash %016llx\n", rank,
                static_cast<unsigned long long>(hashes[static_cast<size_t>(rank)]));
  }
  return 0;
}
