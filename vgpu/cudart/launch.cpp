// Kernel launches, all of which end in the driver's cuLaunchKernel family.
#include <cstring>

#include "vgpu/cudart/kernel_table.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

namespace {

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// <<<…>>> pushes, the kernel's host function pops; arguments of the call may themselves launch.
constexpr int kMaxNestedConfigurations = 64;
thread_local CallConfiguration t_configurations[kMaxNestedConfigurations];
thread_local int t_configuration_count = 0;

cudaError_t check_shape(dim3 grid, dim3 block) {
  const bool empty =
      grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
  const bool large = block.x > 1024 || block.y > 1024 || block.z > 64 ||
                     static_cast<size_t>(block.x) * block.y * block.z > 1024 ||
                     grid.x > 0x7fffffffU || grid.y > 65535 || grid.z > 65535;
  return empty || large ? cudaErrorInvalidConfiguration : cudaSuccess;
}

cudaError_t launch(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream, bool cooperative) {
  const CUresult ready = prepare();
  if (ready != CUDA_SUCCESS) {
    return finish(ready);
  }
  const CUfunction function = find_kernel(symbol);
  if (function == nullptr) {
    return finish(cudaErrorInvalidDeviceFunction);
  }
  const cudaError_t shape = check_shape(grid, block);
  if (shape != cudaSuccess) {
    return finish(shape);
  }
  const auto bytes = static_cast<unsigned>(shared_bytes);
  if (cooperative) {
    return finish(cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y,
                                            block.z, bytes, stream, arguments));
  }
  return finish(cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, bytes,
                               stream, arguments, nullptr));
}

}  // namespace

CUDART_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                CUstream_st* stream) {
  if (t_configuration_count == kMaxNestedConfigurations) {
    finish(cudaErrorMissingConfiguration);
    return 1;
  }
  t_configurations[t_configuration_count++] = CallConfiguration{grid, block, shared_bytes, stream};
  return 0;
}

CUDART_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                  void* stream) {
  if (t_configuration_count == 0) {
    return finish(cudaErrorMissingConfiguration);
  }
  const CallConfiguration& top = t_configurations[--t_configuration_count];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

CUDART_API cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launch(symbol, grid, block, arguments, shared_bytes, stream, false);
}

CUDART_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                          void** arguments, size_t shared_bytes,
                                          cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream, false);
}

CUDART_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                               void** arguments, size_t shared_bytes,
                                               cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes,
                stream == nullptr ? cudaStreamPerThread : stream, false);
}

CUDART_API cudaError_t cudaLaunchCooperativeKernel(const void* symbol, dim3 grid, dim3 block,
                                                   void** arguments, size_t shared_bytes,
                                                   cudaStream_t stream) {
  return launch(symbol, grid, block, arguments, shared_bytes, stream, true);
}

CUDART_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol,
                                           void** arguments) {
  static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
    return finish(cudaErrorInvalidValue);
  }
  const CUresult ready = prepare();
  if (ready != CUDA_SUCCESS) {
    return finish(ready);
  }
  const CUfunction function = find_kernel(symbol);
  if (function == nullptr) {
    return finish(cudaErrorInvalidDeviceFunction);
  }
  const cudaError_t shape = check_shape(config->gridDim, config->blockDim);
  if (shape != cudaSuccess) {
    return finish(shape);
  }
  CUlaunchConfig driver_config = {};
  driver_config.gridDimX = config->gridDim.x;
  driver_config.gridDimY = config->gridDim.y;
  driver_config.gridDimZ = config->gridDim.z;
  driver_config.blockDimX = config->blockDim.x;
  driver_config.blockDimY = config->blockDim.y;
  driver_config.blockDimZ = config->blockDim.z;
  driver_config.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  driver_config.hStream = config->stream;
  driver_config.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
  driver_config.numAttrs = config->numAttrs;
  return finish(cuLaunchKernelEx(&driver_config, function, arguments, nullptr));
}
