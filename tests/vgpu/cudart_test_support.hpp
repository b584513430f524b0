// The box of the runtime tests, and checks that print CUDA's error names.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace braid::vgpu::testing {

/// Eight virtual GPUs in bridged pairs, unless the caller chose a box. The stand-ins read the
/// environment at the first call, so a static object is early enough.
struct BoxOfEight {
  BoxOfEight() {
    setenv("BRAID_VGPU_TOPOLOGY",
           BRAID_SOURCE_DIR "/config/topologies/a6000x8-bridged-amd-2socket.xml", 0);
  }
};
inline const BoxOfEight kBoxOfEight;

inline ::testing::AssertionResult is_success(cudaError_t error) {
  if (error == cudaSuccess) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << cudaGetErrorName(error) << ": " << cudaGetErrorString(error);
}

/// Device 0 and no error left over from another test.
class CudartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(is_success(cudaSetDevice(0)));
    cudaGetLastError();
  }
};

}  // namespace braid::vgpu::testing

#define EXPECT_CUDA(call) EXPECT_TRUE(braid::vgpu::testing::is_success(call))
#define ASSERT_CUDA(call) ASSERT_TRUE(braid::vgpu::testing::is_success(call))
