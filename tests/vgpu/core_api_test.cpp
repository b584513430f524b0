// The driver's surface: versions, look-up by name, missing functions, attributes.
#include <dlfcn.h>

#include <cstring>

#include "core_test_support.hpp"

namespace braid::vgpu::testing {
namespace {

class ApiTest : public DriverTest {};

void* proc(const char* name, int version, cuuint64_t flags = 0) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = cuGetProcAddress(name, &function, version, flags, &status);
  EXPECT_EQ(result == CUDA_SUCCESS, status == CU_GET_PROC_ADDRESS_SUCCESS);
  return function;
}

void* exported(const char* name) { return dlsym(RTLD_DEFAULT, name); }

TEST_F(ApiTest, VersionAndErrors) {
  int version = 0;
  EXPECT_CUDA(cuDriverGetVersion(&version));
  EXPECT_EQ(version, CUDA_VERSION);
  const char* text = nullptr;
  EXPECT_CUDA(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_CUDA(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ(text, "invalid argument");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(123456), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiTest, FunctionsByNameAndVersion) {
  EXPECT_EQ(proc("cuMemAlloc", 13000), exported("cuMemAlloc_v2"));
  EXPECT_EQ(proc("cuMemAlloc", 2000), exported("cuMemAlloc"));
  EXPECT_EQ(proc("cuCtxCreate", 11040), exported("cuCtxCreate_v3"));
  EXPECT_EQ(proc("cuCtxCreate", 13000), exported("cuCtxCreate_v4"));
  EXPECT_EQ(proc("cuStreamWaitValue32", 8000), exported("cuStreamWaitValue32"));
  EXPECT_EQ(proc("cuStreamWaitValue32", 11070), exported("cuStreamWaitValue32_v2"));
  EXPECT_EQ(proc("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            exported("cuLaunchKernel_ptsz"));
  EXPECT_EQ(proc("cuMemcpyHtoD", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            exported("cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(proc("cuInit", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            exported("cuInit"));
  EXPECT_EQ(proc("cuNoSuchFunction", 13000), nullptr);
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  EXPECT_EQ(cuGetProcAddress("cuLaunchKernelEx", &function, 11000, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST_F(ApiTest, WhatIsMissingSaysSo) {
  CUgraph graph = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("cuGraphCreate"), std::string::npos);
  EXPECT_EQ(text.find("cuGraphCreate"), text.rfind("cuGraphCreate"));  // once
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, "code"), CUDA_ERROR_NOT_SUPPORTED);
  const void* table = &graph;
  CUuuid id{};
  EXPECT_EQ(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(table, nullptr);
}

TEST_F(ApiTest, DevicesDescribeThemselves) {
  int count = 0;
  ASSERT_CUDA(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 4);
  CUdevice device = -1;
  EXPECT_EQ(cuDeviceGet(&device, 4), CUDA_ERROR_INVALID_DEVICE);
  char name[64] = {}, bus[32] = {};
  EXPECT_CUDA(cuDeviceGetName(name, sizeof(name), 2));
  EXPECT_STREQ(name, "NVIDIA RTX A6000");
  EXPECT_CUDA(cuDeviceGetPCIBusId(bus, sizeof(bus), 2));
  EXPECT_STREQ(bus, "0000:30:00.0");
  EXPECT_CUDA(cuDeviceGetByPCIBusId(&device, "30:00.0"));
  EXPECT_EQ(device, 2);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "99:00.0"), CUDA_ERROR_INVALID_DEVICE);
  int value = 0;
  EXPECT_CUDA(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  EXPECT_EQ(value, 84);
  EXPECT_CUDA(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1));
  EXPECT_EQ(value, 0x20);
  EXPECT_CUDA(
      cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1));
  EXPECT_EQ(value, 1);
  EXPECT_CUDA(
      cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 2));
  EXPECT_EQ(value, 0);
  CUuuid first, second;
  EXPECT_CUDA(cuDeviceGetUuid(&first, 0));
  EXPECT_CUDA(cuDeviceGetUuid(&second, 1));
  EXPECT_NE(std::memcmp(&first, &second, sizeof(first)), 0);
}

TEST_F(ApiTest, ContextsStack) {
  CUcontext made = nullptr, seen = nullptr;
  ASSERT_CUDA(cuCtxCreate(&made, nullptr, CU_CTX_SCHED_SPIN, 1));
  EXPECT_EQ(current_device(), 1);
  EXPECT_CUDA(cuCtxPopCurrent(&seen));
  EXPECT_EQ(seen, made);
  EXPECT_CUDA(cuCtxGetCurrent(&seen));
  EXPECT_EQ(seen, context_);
  EXPECT_CUDA(cuCtxPushCurrent(made));
  EXPECT_CUDA(cuCtxDestroy(made));
  EXPECT_CUDA(cuCtxGetCurrent(&seen));
  EXPECT_EQ(seen, context_);
  unsigned flags = 0;
  int active = 0;
  EXPECT_CUDA(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  EXPECT_CUDA(cuDevicePrimaryCtxGetState(3, &flags, &active));
  EXPECT_EQ(active, 0);
}

TEST_F(ApiTest, FunctionsHaveAttributes) {
  CUfunction function = kernel("test_store");
  const char* name = nullptr;
  EXPECT_CUDA(cuFuncGetName(&name, function));
  EXPECT_STREQ(name, "test_store");
  int value = 0;
  EXPECT_CUDA(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(value, 1024);
  EXPECT_CUDA(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
  EXPECT_CUDA(
      cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(value, 65536);
  EXPECT_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 512, 0));
  EXPECT_EQ(value, 3);
  const CUdeviceptr p = 0;
  void* arguments[] = {const_cast<CUdeviceptr*>(&p), &value};
  EXPECT_EQ(cuLaunchCooperativeKernel(function, 85, 1, 1, 1, 1, 1, 0, nullptr, arguments),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

}  // namespace
}  // namespace braid::vgpu::testing
