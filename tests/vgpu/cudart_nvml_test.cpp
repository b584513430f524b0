// NVML on a box of eight A6000 in bridged pairs over two sockets.
#include <cstring>
#include <string>

#include "cudart_test_support.hpp"
#include "vgpu/nvml/nvml_abi.hpp"

extern "C" {
nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlShutdown();
const char* nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* handle);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* handle);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* handle);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int* index);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* info);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor);
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t handle, unsigned int link, unsigned int* active);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t handle, unsigned int link,
                                                 nvmlPciInfo_t* info);
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second,
                                    nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t* status);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                 nvmlGpuTopologyLevel_t* level);
}

namespace {

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS); }
  void TearDown() override { EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS); }

  static nvmlDevice_t device(unsigned index) {
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(index, &handle), NVML_SUCCESS);
    return handle;
  }
};

TEST(NvmlLibrary, NeedsInitialisation) {
  unsigned count = 0;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  EXPECT_STREQ(nvmlErrorString(NVML_SUCCESS), "Success");
}

TEST_F(Nvml, CountsAndNames) {
  unsigned count = 0;
  ASSERT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 8U);
  char version[80];
  ASSERT_EQ(nvmlSystemGetDriverVersion(version, sizeof(version)), NVML_SUCCESS);
  EXPECT_NE(std::string(version).find("virtual"), std::string::npos);
  EXPECT_EQ(nvmlSystemGetDriverVersion(version, 3), NVML_ERROR_INSUFFICIENT_SIZE);
  nvmlDevice_t handle = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(8, &handle), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Nvml, HandlesAreFoundByBusIdAndUuid) {
  for (unsigned i = 0; i < 8; ++i) {
    nvmlPciInfo_t info;
    ASSERT_EQ(nvmlDeviceGetPciInfo_v3(device(i), &info), NVML_SUCCESS);
    nvmlDevice_t handle = nullptr;
    ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(info.busId, &handle), NVML_SUCCESS) << info.busId;
    EXPECT_EQ(handle, device(i));
    char bus_id[32];
    ASSERT_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), static_cast<int>(i)));
    ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(bus_id, &handle), NVML_SUCCESS) << bus_id;
    EXPECT_EQ(handle, device(i));
    char uuid[96];
    ASSERT_EQ(nvmlDeviceGetUUID(device(i), uuid, sizeof(uuid)), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid, &handle), NVML_SUCCESS) << uuid;
    unsigned index = 99;
    ASSERT_EQ(nvmlDeviceGetIndex(handle, &index), NVML_SUCCESS);
    EXPECT_EQ(index, i);
  }
}

TEST_F(Nvml, MemoryFollowsAllocations) {
  nvmlMemory_t before;
  nvmlMemory_t after;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device(0), &before), NVML_SUCCESS);
  void* pointer = nullptr;
  ASSERT_CUDA(cudaSetDevice(0));
  ASSERT_CUDA(cudaMalloc(&pointer, size_t{8} << 20));
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device(0), &after), NVML_SUCCESS);
  EXPECT_EQ(after.used - before.used, 8ULL << 20);
  EXPECT_EQ(after.total, after.free + after.used);
  EXPECT_CUDA(cudaFree(pointer));
  int current = -1;
  ASSERT_CUDA(cudaGetDevice(&current));
  EXPECT_EQ(current, 0);
}

TEST_F(Nvml, NvLinksJoinThePairs) {
  unsigned active = 0;
  ASSERT_EQ(nvmlDeviceGetNvLinkState(device(0), 0, &active), NVML_SUCCESS);
  EXPECT_EQ(active, 1U);
  ASSERT_EQ(nvmlDeviceGetNvLinkState(device(0), 17, &active), NVML_SUCCESS);
  EXPECT_EQ(active, 0U);
  EXPECT_EQ(nvmlDeviceGetNvLinkState(device(0), 18, &active), NVML_ERROR_INVALID_ARGUMENT);
  nvmlPciInfo_t remote;
  nvmlPciInfo_t partner;
  ASSERT_EQ(nvmlDeviceGetNvLinkRemotePciInfo_v2(device(0), 0, &remote), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetPciInfo_v3(device(1), &partner), NVML_SUCCESS);
  EXPECT_STREQ(remote.busId, partner.busId);
}

TEST_F(Nvml, PeerStatusAndAncestors) {
  nvmlGpuP2PStatus_t status;
  ASSERT_EQ(nvmlDeviceGetP2PStatus(device(0), device(1), NVML_P2P_CAPS_INDEX_NVLINK, &status),
            NVML_SUCCESS);
  EXPECT_EQ(status, NVML_P2P_STATUS_OK);
  ASSERT_EQ(nvmlDeviceGetP2PStatus(device(0), device(7), NVML_P2P_CAPS_INDEX_NVLINK, &status),
            NVML_SUCCESS);
  EXPECT_EQ(status, NVML_P2P_STATUS_NOT_SUPPORTED);
  nvmlGpuTopologyLevel_t level;
  ASSERT_EQ(nvmlDeviceGetTopologyCommonAncestor(device(0), device(0), &level), NVML_SUCCESS);
  EXPECT_EQ(level, NVML_TOPOLOGY_INTERNAL);
  ASSERT_EQ(nvmlDeviceGetTopologyCommonAncestor(device(0), device(7), &level), NVML_SUCCESS);
  EXPECT_EQ(level, NVML_TOPOLOGY_SYSTEM);
  int major = 0;
  int minor = 0;
  ASSERT_EQ(nvmlDeviceGetCudaComputeCapability(device(3), &major, &minor), NVML_SUCCESS);
  EXPECT_EQ(major, 8);
  EXPECT_EQ(minor, 6);
}

}  // namespace
