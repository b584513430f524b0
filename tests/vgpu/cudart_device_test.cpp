// Devices: selection, properties, peer access, limits, versions.
#include <cstring>
#include <string>
#include <thread>

#include "cudart_test_support.hpp"

namespace {

using CudartDevice = braid::vgpu::testing::CudartTest;

TEST_F(CudartDevice, CountsTheDevicesOfTheTopology) {
  int count = 0;
  ASSERT_CUDA(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 8);
}

TEST_F(CudartDevice, VersionsAreThoseOfTheHeaders) {
  int version = 0;
  ASSERT_CUDA(cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, CUDART_VERSION);
  ASSERT_CUDA(cudaDriverGetVersion(&version));
  EXPECT_GE(version, CUDART_VERSION / 1000 * 1000);
}

TEST_F(CudartDevice, CurrentDeviceIsPerThread) {
  ASSERT_CUDA(cudaSetDevice(3));
  int other = -1;
  std::thread([&] { cudaGetDevice(&other); }).join();
  int mine = -1;
  ASSERT_CUDA(cudaGetDevice(&mine));
  EXPECT_EQ(mine, 3);
  EXPECT_EQ(other, 0);
}

TEST_F(CudartDevice, RefusesDevicesThatDoNotExist) {
  EXPECT_EQ(cudaSetDevice(8), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 8), cudaErrorInvalidDevice);
  int device = -1;
  ASSERT_CUDA(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
}

TEST_F(CudartDevice, PropertiesAgreeWithAttributes) {
  cudaDeviceProp properties;
  ASSERT_CUDA(cudaGetDeviceProperties(&properties, 1));
  EXPECT_EQ(properties.major, 8);
  EXPECT_EQ(properties.minor, 6);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_GT(properties.multiProcessorCount, 0);
  EXPECT_GT(properties.totalGlobalMem, size_t{1} << 20);
  EXPECT_GT(std::strlen(properties.name), 0U);
  int value = 0;
  ASSERT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1));
  EXPECT_EQ(value, properties.multiProcessorCount);
  ASSERT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 1));
  EXPECT_EQ(value, properties.maxThreadsPerBlock);
  ASSERT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrUnifiedAddressing, 1));
  EXPECT_EQ(value, 1);
}

TEST_F(CudartDevice, BusIdsGoBothWays) {
  for (int device = 0; device < 8; ++device) {
    char bus_id[32];
    int found = -1;
    ASSERT_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), device));
    ASSERT_CUDA(cudaDeviceGetByPCIBusId(&found, bus_id));
    EXPECT_EQ(found, device) << bus_id;
  }
}

TEST_F(CudartDevice, PeerAccessIsEnabledOnce) {
  int can = 0;
  ASSERT_CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  ASSERT_EQ(can, 1);
  EXPECT_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_CUDA(cudaDeviceDisablePeerAccess(1));
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

TEST_F(CudartDevice, UsableAgainAfterReset) {
  ASSERT_CUDA(cudaSetDevice(6));
  void* pointer = nullptr;
  ASSERT_CUDA(cudaMalloc(&pointer, 64));
  ASSERT_CUDA(cudaDeviceReset());
  EXPECT_NE(cudaFree(pointer), cudaSuccess);  // went with the context
  cudaGetLastError();
  EXPECT_CUDA(cudaMalloc(&pointer, 64));
  EXPECT_CUDA(cudaFree(pointer));
}

TEST_F(CudartDevice, LimitsAndPriorities) {
  size_t value = 0;
  EXPECT_CUDA(cudaDeviceGetLimit(&value, cudaLimitStackSize));
  EXPECT_GT(value, 0U);
  int least = 0;
  int greatest = 0;
  ASSERT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_LT(greatest, least);
}

}  // namespace
