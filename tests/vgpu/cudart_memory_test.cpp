// Allocation, copies, fills and pointer attributes.
#include <numeric>
#include <vector>

#include "cudart_test_support.hpp"

namespace {

using CudartMemory = braid::vgpu::testing::CudartTest;

std::vector<int> counting(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_F(CudartMemory, RoundTripThroughTheDevice) {
  const std::vector<int> in = counting(1000);
  std::vector<int> out(in.size(), 0);
  void* device = nullptr;
  ASSERT_CUDA(cudaMalloc(&device, in.size() * sizeof(int)));
  ASSERT_CUDA(cudaMemcpy(device, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemcpy(out.data(), device, in.size() * sizeof(int), cudaMemcpyDefault));
  EXPECT_EQ(in, out);
  EXPECT_CUDA(cudaFree(device));
}

TEST_F(CudartMemory, ZeroBytesAndNullAreFine) {
  void* pointer = &pointer;
  EXPECT_CUDA(cudaMalloc(&pointer, 0));
  EXPECT_EQ(pointer, nullptr);
  EXPECT_CUDA(cudaFree(nullptr));
  EXPECT_CUDA(cudaFreeHost(nullptr));
  EXPECT_CUDA(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
}

TEST_F(CudartMemory, WrongUsesHaveCudasErrors) {
  void* device = nullptr;
  ASSERT_CUDA(cudaMalloc(&device, 256));
  int value = 0;
  EXPECT_EQ(cudaMemcpy(device, &value, sizeof(value), static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_CUDA(cudaFree(device));
  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  size_t free = 0;
  size_t total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(cudaMalloc(&device, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(device, nullptr);
}

TEST_F(CudartMemory, TwoDimensionalCopiesKeepThePadding) {
  constexpr size_t kWidth = 12;
  constexpr size_t kHeight = 5;
  void* device = nullptr;
  size_t pitch = 0;
  ASSERT_CUDA(cudaMallocPitch(&device, &pitch, kWidth, kHeight));
  EXPECT_GE(pitch, kWidth);
  ASSERT_CUDA(cudaMemset(device, 0x55, pitch * kHeight));
  const std::vector<unsigned char> in(kWidth * kHeight, 0x11);
  ASSERT_CUDA(
      cudaMemcpy2D(device, pitch, in.data(), kWidth, kWidth, kHeight, cudaMemcpyHostToDevice));
  std::vector<unsigned char> out(pitch * kHeight);
  ASSERT_CUDA(cudaMemcpy(out.data(), device, out.size(), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], i % pitch < kWidth ? 0x11 : 0x55) << i;
  }
  EXPECT_EQ(cudaMemcpy2D(device, 4, in.data(), kWidth, kWidth, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_CUDA(cudaFree(device));
}

TEST_F(CudartMemory, AttributesTellWhatAPointerIs) {
  void* device = nullptr;
  void* pinned = nullptr;
  void* managed = nullptr;
  int local = 0;
  ASSERT_CUDA(cudaSetDevice(2));
  ASSERT_CUDA(cudaMalloc(&device, 64));
  ASSERT_CUDA(cudaMallocHost(&pinned, 64));
  ASSERT_CUDA(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal));
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 10));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 2);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, pinned);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, managed));
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, &local));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes.device, cudaInvalidDeviceId);
  EXPECT_CUDA(cudaFree(managed));
  EXPECT_CUDA(cudaFreeHost(pinned));
  EXPECT_CUDA(cudaFree(device));
}

TEST_F(CudartMemory, RegisteredHostMemory) {
  std::vector<char> memory(8192);
  ASSERT_CUDA(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterDefault));
  void* device = nullptr;
  EXPECT_CUDA(cudaHostGetDevicePointer(&device, memory.data(), 0));
  EXPECT_NE(device, nullptr);
  EXPECT_CUDA(cudaHostUnregister(memory.data()));
  EXPECT_NE(cudaHostUnregister(memory.data()), cudaSuccess);
}

TEST_F(CudartMemory, StreamOrderedAllocationIsReusedInOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  void* first = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&first, 4096, stream));
  ASSERT_CUDA(cudaMemsetAsync(first, 7, 4096, stream));
  std::vector<unsigned char> out(4096);
  ASSERT_CUDA(cudaMemcpyAsync(out.data(), first, out.size(), cudaMemcpyDeviceToHost, stream));
  ASSERT_CUDA(cudaFreeAsync(first, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(out, std::vector<unsigned char>(4096, 7));
  cudaMemPool_t pool = nullptr;
  ASSERT_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = UINT64_MAX;
  EXPECT_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(CudartMemory, CopiesBetweenDevices) {
  const std::vector<int> in = counting(64);
  std::vector<int> out(in.size(), 0);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_CUDA(cudaMalloc(&first, in.size() * sizeof(int)));
  ASSERT_CUDA(cudaSetDevice(5));
  ASSERT_CUDA(cudaMalloc(&second, in.size() * sizeof(int)));
  ASSERT_CUDA(cudaMemcpy(first, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemcpyPeer(second, 5, first, 0, in.size() * sizeof(int)));
  ASSERT_CUDA(cudaMemcpy(out.data(), second, in.size() * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT_EQ(in, out);
  EXPECT_CUDA(cudaFree(second));
  EXPECT_CUDA(cudaFree(first));
}

TEST_F(CudartMemory, BatchedCopies) {
  int in[3] = {1, 2, 3};
  int out[3] = {};
  void* device = nullptr;
  ASSERT_CUDA(cudaMalloc(&device, sizeof(in)));
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  auto* base = static_cast<int*>(device);
  void* const destinations[] = {base, base + 1, base + 2};
  const void* const sources[] = {&in[2], &in[1], &in[0]};
  const size_t sizes[] = {sizeof(int), sizeof(int), sizeof(int)};
  cudaMemcpyAttributes attributes = {};
  size_t index = 0;
  ASSERT_CUDA(
      cudaMemcpyBatchAsync(destinations, sources, sizes, 3, &attributes, &index, 1, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  ASSERT_CUDA(cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost));
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[2], 1);
  EXPECT_CUDA(cudaStreamDestroy(stream));
  EXPECT_CUDA(cudaFree(device));
}

}  // namespace
