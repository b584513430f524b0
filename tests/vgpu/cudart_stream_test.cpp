// Streams, events, host functions and per-thread default streams.
#include <atomic>
#include <vector>

#include "cudart_test_support.hpp"

// Programs compiled with --default-stream per-thread call these names.
extern "C" cudaError_t cudaMemsetAsync_ptsz(void* pointer, int value, size_t bytes,
                                            cudaStream_t stream);
extern "C" cudaError_t cudaMemcpy_ptds(void* destination, const void* source, size_t bytes,
                                       cudaMemcpyKind kind);
extern "C" cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function,
                                               void* user_data);

namespace {

using CudartStream = braid::vgpu::testing::CudartTest;

void wait_until_set(void* flag) {
  while (!static_cast<std::atomic<bool>*>(flag)->load()) {
  }
}

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

TEST_F(CudartStream, QueryFollowsTheWork) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::atomic<bool> go{false};
  ASSERT_CUDA(cudaLaunchHostFunc(stream, wait_until_set, &go));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  go = true;
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaStreamQuery(stream));
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(CudartStream, EventsOrderStreams) {
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  ASSERT_CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  ASSERT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  std::atomic<bool> go{false};
  std::atomic<int> counter{0};
  ASSERT_CUDA(cudaLaunchHostFunc(first, wait_until_set, &go));
  ASSERT_CUDA(cudaEventRecord(event, first));
  ASSERT_CUDA(cudaStreamWaitEvent(second, event, 0));
  ASSERT_CUDA(cudaLaunchHostFunc(second, count_up, &counter));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(counter.load(), 0);
  go = true;
  EXPECT_CUDA(cudaStreamSynchronize(second));
  EXPECT_EQ(counter.load(), 1);
  EXPECT_CUDA(cudaEventSynchronize(event));
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, event), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  EXPECT_CUDA(cudaEventDestroy(event));
  EXPECT_CUDA(cudaStreamDestroy(second));
  EXPECT_CUDA(cudaStreamDestroy(first));
}

TEST_F(CudartStream, AttributesComeBack) {
  int least = 0;
  int greatest = 0;
  ASSERT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  ASSERT_CUDA(cudaSetDevice(4));
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  int priority = 0;
  unsigned flags = 0;
  int device = -1;
  unsigned long long id = 0;
  unsigned long long default_id = 0;
  EXPECT_CUDA(cudaStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, greatest);
  EXPECT_CUDA(cudaStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  EXPECT_CUDA(cudaStreamGetDevice(stream, &device));
  EXPECT_EQ(device, 4);
  EXPECT_CUDA(cudaStreamGetId(stream, &id));
  EXPECT_CUDA(cudaStreamGetId(nullptr, &default_id));
  EXPECT_NE(id, default_id);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(CudartStream, CallbacksRunOnce) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  std::atomic<int> counter{0};
  ASSERT_CUDA(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t status, void* data) {
        *static_cast<std::atomic<int>*>(data) += status == cudaSuccess ? 1 : 100;
      },
      &counter, 0));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(counter.load(), 1);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(CudartStream, LegacyStreamWaitsForBlockingStreams) {
  cudaStream_t blocking = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&blocking));
  std::atomic<bool> go{false};
  std::atomic<int> counter{0};
  ASSERT_CUDA(cudaLaunchHostFunc(blocking, wait_until_set, &go));
  ASSERT_CUDA(cudaLaunchHostFunc(cudaStreamLegacy, count_up, &counter));
  EXPECT_EQ(counter.load(), 0);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  go = true;
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(counter.load(), 1);
  cudaGetLastError();
  EXPECT_CUDA(cudaStreamDestroy(blocking));
}

TEST_F(CudartStream, PerThreadDefaultStreamIsNotTheLegacyOne) {
  cudaStream_t other = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  void* device = nullptr;
  ASSERT_CUDA(cudaMalloc(&device, 64));
  std::atomic<bool> go{false};
  ASSERT_CUDA(cudaLaunchHostFunc_ptsz(nullptr, wait_until_set, &go));
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  ASSERT_CUDA(cudaMemsetAsync(device, 9, 64, other));
  EXPECT_CUDA(cudaStreamSynchronize(other));  // an unrelated stream goes on
  go = true;
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  ASSERT_CUDA(cudaMemsetAsync_ptsz(device, 3, 64, nullptr));
  std::vector<unsigned char> out(64);
  ASSERT_CUDA(cudaMemcpy_ptds(out.data(), device, out.size(), cudaMemcpyDeviceToHost));
  EXPECT_EQ(out, std::vector<unsigned char>(64, 3));
  EXPECT_CUDA(cudaFree(device));
  cudaGetLastError();
  EXPECT_CUDA(cudaStreamDestroy(other));
}

TEST_F(CudartStream, BadHandlesAreRefused) {
  EXPECT_EQ(cudaStreamCreateWithFlags(nullptr, cudaStreamDefault), cudaErrorInvalidValue);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 64), cudaErrorInvalidValue);
  cudaEvent_t event = nullptr;
  ASSERT_CUDA(cudaEventCreate(&event));
  ASSERT_CUDA(cudaEventDestroy(event));
  EXPECT_NE(cudaEventRecord(event, nullptr), cudaSuccess);
}

}  // namespace
