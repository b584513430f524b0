// Registering and launching kernels, as nvcc's host code does it.
#include <cuda.h>

#include <string>
#include <vector>

#include "cudart_test_support.hpp"
#include "vgpu/core/kernel_registry.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void* device_code);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function,
                            const char* device_name, int thread_limit, uint3* thread, uint3* block,
                            dim3* block_size, dim3* grid_size, int* warp_size);
void __cudaRegisterVar(void** handle, char* host_variable, char* device_address,
                       const char* device_name, int external, size_t size, int constant,
                       int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream);
}

namespace {

// out[i] = factor · i, for as many elements as the launch has threads
void run_scale(const braid_launch_shape* shape, void* const* arguments) {
  float* out = *static_cast<float* const*>(arguments[0]);
  const float factor = *static_cast<const float*>(arguments[1]);
  for (unsigned i = 0; i < shape->grid[0] * shape->block[0]; ++i) {
    out[i] = factor * static_cast<float>(i);
  }
}

constexpr size_t kScaleArguments[] = {sizeof(float*), sizeof(float)};
constexpr braid_host_kernel kKernels[] = {{"test_scale", 2, kScaleArguments, run_scale}};
constexpr braid_host_kernel_table kTable = {BRAID_HOST_KERNEL_ABI, 1, kKernels};

// Stand for the addresses of host functions and of a shadow variable.
char scale_entry;
char unknown_entry;
char never_registered_entry;
char device_variable;

class CudartLaunch : public braid::vgpu::testing::CudartTest {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(braid::vgpu::add_host_kernels(&kTable, "cudart_launch_test"));
    handle_ = __cudaRegisterFatBinary(nullptr);
    register_kernel(&scale_entry, "test_scale");
    register_kernel(&unknown_entry, "_Z12test_unknownPf");
    static char name[] = "test_variable";
    __cudaRegisterVar(handle_, &device_variable, nullptr, name, 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle_);
  }
  static void TearDownTestSuite() { __cudaUnregisterFatBinary(handle_); }

  static void register_kernel(const char* entry, const char* name) {
    __cudaRegisterFunction(handle_, entry, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  }

  void SetUp() override {
    CudartTest::SetUp();
    ASSERT_CUDA(cudaMalloc(reinterpret_cast<void**>(&out_), kCount * sizeof(float)));
    ASSERT_CUDA(cudaMemset(out_, 0, kCount * sizeof(float)));
  }
  void TearDown() override { EXPECT_CUDA(cudaFree(out_)); }

  void expect_scaled(float factor) {
    std::vector<float> host(kCount);
    ASSERT_CUDA(cudaMemcpy(host.data(), out_, kCount * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(host[i], factor * static_cast<float>(i)) << i;
    }
  }

  static constexpr size_t kCount = 128;
  static inline void** handle_ = nullptr;
  float* out_ = nullptr;
};

TEST_F(CudartLaunch, RunsTheHostImplementation) {
  float factor = 3;
  void* arguments[] = {&out_, &factor};
  ASSERT_CUDA(cudaLaunchKernel(&scale_entry, dim3(2), dim3(64), arguments, 0, nullptr));
  factor = 5;  // arguments were copied at the launch
  ASSERT_CUDA(cudaDeviceSynchronize());
  expect_scaled(3);
}

TEST_F(CudartLaunch, CompilerGeneratedPath) {
  ASSERT_EQ(__cudaPushCallConfiguration(dim3(4), dim3(32), 16, cudaStreamLegacy), 0U);
  cudaKernel_t kernel = nullptr;
  ASSERT_CUDA(__cudaGetKernel(&kernel, &scale_entry));
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
  EXPECT_EQ(grid.x, 4U);
  EXPECT_EQ(block.x, 32U);
  EXPECT_EQ(shared_bytes, 16U);
  EXPECT_EQ(stream, cudaStreamLegacy);
  float factor = 7;
  void* arguments[] = {&out_, &factor};
  ASSERT_CUDA(__cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream));
  expect_scaled(7);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream),
            cudaErrorMissingConfiguration);
}

TEST_F(CudartLaunch, ExtensibleLaunch) {
  float factor = 2;
  void* arguments[] = {&out_, &factor};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kCount);
  ASSERT_CUDA(cudaLaunchKernelExC(&config, &scale_entry, arguments));
  ASSERT_CUDA(cudaDeviceSynchronize());
  expect_scaled(2);
}

TEST_F(CudartLaunch, FunctionHandlesAreTheDrivers) {
  cudaFunction_t function = nullptr;
  ASSERT_CUDA(cudaGetFuncBySymbol(&function, &scale_entry));
  float factor = 4;
  void* arguments[] = {&out_, &factor};
  ASSERT_EQ(cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  ASSERT_CUDA(cudaDeviceSynchronize());
  expect_scaled(4);
  const char* name = nullptr;
  ASSERT_CUDA(cudaFuncGetName(&name, &scale_entry));
  EXPECT_STREQ(name, "test_scale");
  size_t offset = 0;
  size_t size = 0;
  ASSERT_CUDA(cudaFuncGetParamInfo(&scale_entry, 1, &offset, &size));
  EXPECT_EQ(offset, sizeof(float*));
  EXPECT_EQ(size, sizeof(float));
}

TEST_F(CudartLaunch, UnknownKernelIsAClearError) {
  void* arguments[] = {&out_};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cudaLaunchKernel(&unknown_entry, dim3(3), dim3(32), arguments, 0, nullptr),
            cudaErrorNotSupported);
  const std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("test_unknown"), std::string::npos) << message;
  EXPECT_NE(message.find("BRAID_VGPU_KERNEL"), std::string::npos) << message;
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST_F(CudartLaunch, WrongLaunchesAreRefused) {
  void* arguments[] = {&out_, &out_};
  EXPECT_EQ(cudaLaunchKernel(&never_registered_entry, dim3(1), dim3(1), arguments, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&scale_entry, dim3(0), dim3(1), arguments, 0, nullptr),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(&scale_entry, dim3(1), dim3(2048), arguments, 0, nullptr),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
}

TEST_F(CudartLaunch, AttributesAndOccupancy) {
  cudaFuncAttributes attributes;
  ASSERT_CUDA(cudaFuncGetAttributes(&attributes, &scale_entry));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attributes.binaryVersion, 86);
  EXPECT_CUDA(
      cudaFuncSetAttribute(&scale_entry, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  int blocks = 0;
  ASSERT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &scale_entry, 512, 0));
  EXPECT_EQ(blocks, 3);  // 1536 threads on an sm_86 multiprocessor
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &never_registered_entry, 512, 0),
            cudaErrorInvalidDeviceFunction);
}

TEST_F(CudartLaunch, DeviceVariablesAreRefusedByName) {
  int value = 0;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cudaMemcpyToSymbol(&device_variable, &value, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorNotSupported);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("test_variable"), std::string::npos);
  EXPECT_EQ(cudaMemcpyToSymbol(&never_registered_entry, &value, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
}

TEST_F(CudartLaunch, UnregisteredKernelsAreForgotten) {
  static char entry;
  void** handle = __cudaRegisterFatBinary(nullptr);
  __cudaRegisterFunction(handle, &entry, nullptr, "test_scale", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  cudaKernel_t kernel = nullptr;
  EXPECT_CUDA(__cudaGetKernel(&kernel, &entry));
  __cudaUnregisterFatBinary(handle);
  EXPECT_EQ(__cudaGetKernel(&kernel, &entry), cudaErrorInvalidDeviceFunction);
}

TEST_F(CudartLaunch, DriverEntryPoints) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  ASSERT_CUDA(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, 0, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_NE(function, nullptr);
  ASSERT_CUDA(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, 0, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
}

}  // namespace
