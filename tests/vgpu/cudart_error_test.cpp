// Error names and strings, last-error semantics, and functions that do not exist on virtual GPUs.
#include <cstring>
#include <string>
#include <thread>

#include "cudart_test_support.hpp"

namespace {

using CudartError = braid::vgpu::testing::CudartTest;

TEST_F(CudartError, NamesAreTheEnumerators) {
  EXPECT_STREQ(cudaGetErrorName(cudaSuccess), "cudaSuccess");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorNotSupported), "cudaErrorNotSupported");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST_F(CudartError, StringsSaySomething) {
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_GT(std::strlen(cudaGetErrorString(cudaErrorMemoryAllocation)), 0U);
  EXPECT_NE(cudaGetErrorString(static_cast<cudaError_t>(12345)), nullptr);
}

TEST_F(CudartError, LastErrorStaysUntilRead) {
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(nullptr, 16), cudaErrorInvalidValue);
  ASSERT_CUDA(cudaMalloc(&pointer, 16));  // a success does not clear it
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_CUDA(cudaFree(pointer));
}

TEST_F(CudartError, LastErrorIsPerThread) {
  ASSERT_EQ(cudaMalloc(nullptr, 16), cudaErrorInvalidValue);
  cudaError_t other = cudaErrorUnknown;
  std::thread([&] { other = cudaGetLastError(); }).join();
  EXPECT_EQ(other, cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST_F(CudartError, MissingFunctionsNameThemselves) {
  cudaGraph_t graph = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaErrorNotSupported);
  const std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("cudaGraphCreate"), std::string::npos) << message;
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST_F(CudartError, CaptureIsRefusedAndNothingIsCaptured) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorNotSupported);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cudaStreamBeginCapture"),
            std::string::npos);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  EXPECT_CUDA(cudaStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

}  // namespace
