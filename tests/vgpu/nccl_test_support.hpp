// What the tests of the virtual NCCL share: a box of eight GPUs, ranks as threads, device memory.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace braid::vgpu::nccl::testing {

#define EXPECT_NCCL(call) EXPECT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)
#define ASSERT_NCCL(call) ASSERT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)
#define EXPECT_CUDA(call) EXPECT_EQ((call), CUDA_SUCCESS)

/// Settings of the box; they act when they are made before the process's first CUDA call.
inline void use_box(const char* topology = "a6000x8-bridged-amd-2socket.xml") {
  const std::string path = std::string(BRAID_SOURCE_DIR "/config/topologies/") + topology;
  setenv("BRAID_VGPU_TOPOLOGY", path.c_str(), 0);
  setenv("BRAID_VGPU_MEMORY", "256MiB", 0);
  setenv("NCCL_TUNER_PLUGIN", "none", 0);
  setenv("NCCL_PROFILER_PLUGIN", "none", 0);
}

inline void use_device(int device) {
  EXPECT_CUDA(cuInit(0));
  CUcontext context = nullptr;
  EXPECT_CUDA(cuDevicePrimaryCtxRetain(&context, device));
  EXPECT_CUDA(cuCtxSetCurrent(context));
}

/// Memory of the current device. It is mapped into the process, so tests read and write it directly
/// once the work that uses it is done.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) : bytes_(bytes) {
    EXPECT_CUDA(cuMemAlloc(&address_, bytes == 0 ? 1 : bytes));
    std::memset(data(), 0xab, bytes);
  }
  ~DeviceBuffer() { cuMemFree(address_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* data() const { return reinterpret_cast<void*>(address_); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(address_);
  }
  size_t bytes() const { return bytes_; }

 private:
  CUdeviceptr address_ = 0;
  size_t bytes_;
};

inline CUstream make_stream() {
  CUstream stream = nullptr;
  EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

/// A rank: a thread with a device, a stream and a communicator.
struct Rank {
  int rank = 0;
  int ranks = 0;
  ncclComm_t comm = nullptr;
  CUstream stream = nullptr;

  void synchronize() const { EXPECT_CUDA(cuStreamSynchronize(stream)); }
};

/// Runs `body` on as many threads, each with its own device and nothing else.
inline void run_threads(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&body, rank] {
      use_device(rank);
      body(rank);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

/// Runs `body` as every rank of a new communicator, which is destroyed afterwards.
inline void run_ranks(int ranks, const std::function<void(Rank&)>& body,
                      const ncclConfig_t* config = nullptr) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  run_threads(ranks, [&](int number) {
    Rank rank{number, ranks, nullptr, make_stream()};
    ncclConfig_t copy = NCCL_CONFIG_INITIALIZER;
    if (config != nullptr) {
      copy = *config;
    }
    ASSERT_NCCL(ncclCommInitRankConfig(&rank.comm, ranks, id, number, &copy));
    body(rank);
    if (rank.comm != nullptr) {
      EXPECT_NCCL(ncclCommDestroy(rank.comm));
    }
    EXPECT_CUDA(cuStreamDestroy(rank.stream));
  });
}

/// Waits until the communicator is no longer in progress; its result then.
inline ncclResult_t settle(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) {
      return ncclInternalError;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return state;
}

/// Waits for an asynchronous error.
inline ncclResult_t wait_for_error(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  while (state == ncclSuccess || state == ncclInProgress) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) {
      return ncclInternalError;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return state;
}

inline bool last_error_has(const std::string& text) {
  return std::string(ncclGetLastError(nullptr)).find(text) != std::string::npos;
}

}  // namespace braid::vgpu::nccl::testing
