// Functions, modules and occupancy.
#include <cuda.h>

#include <algorithm>

#include "vgpu/core/device_models.hpp"
#include "vgpu/core/kernel_launch.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

CUfunction function_of(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

// Device code cannot run on the host. Kernels of nvcc-built programs come in by name through the
// runtime's registration.
CUresult refuse_image(const char* function) {
  report_once(
      std::string(function) +
      ": PTX and cubin cannot run on virtual GPUs (CUDA_ERROR_NOT_SUPPORTED); kernels run by "
      "host implementations, see BRAID_VGPU_KERNEL_PATH");
  return CUDA_ERROR_NOT_SUPPORTED;
}

// Blocks of that size that fit on one SM.
CUresult count_blocks(int* blocks, CUfunction function, int block_size, size_t shared_bytes) {
  const Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (name_of(function) == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (blocks == nullptr || block_size <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const DeviceModel& gpu =
      find_device_model(devices()[static_cast<size_t>(context->device())].compute_capability);
  constexpr int kWarp = 32;
  constexpr size_t kSharedPerBlock = 1024;  // reserved by the system
  const int threads = (block_size + kWarp - 1) / kWarp * kWarp;
  const auto by_shared = static_cast<int>(static_cast<size_t>(gpu.shared_bytes_per_sm) /
                                          (shared_bytes + kSharedPerBlock));
  *blocks = block_size > 1024
                ? 0
                : std::min({gpu.threads_per_sm / threads, by_shared, gpu.threads_per_sm / 64});
  return CUDA_SUCCESS;
}

CUresult best_block_size(int* grid, int* block, CUfunction function, int limit) {
  const Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (name_of(function) == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (grid == nullptr || block == nullptr || limit < 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const DeviceInfo& device = devices()[static_cast<size_t>(context->device())];
  const DeviceModel& gpu = find_device_model(device.compute_capability);
  *block = limit == 0 ? 512 : std::min(limit, 512);
  *grid = device.sm_count * std::max(1, gpu.threads_per_sm / *block);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoad(CUmodule*, const char*) { return refuse_image("cuModuleLoad"); }
CUresult cuModuleLoadData(CUmodule*, const void*) { return refuse_image("cuModuleLoadData"); }
CUresult cuModuleLoadDataEx(CUmodule*, const void*, unsigned int, CUjit_option*, void**) {
  return refuse_image("cuModuleLoadDataEx");
}
CUresult cuModuleLoadFatBinary(CUmodule*, const void*) {
  return refuse_image("cuModuleLoadFatBinary");
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  const char* found = name_of(function);
  if (name == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *name = found;
  return found == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return get_function_attribute(function, attribute, value);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return set_function_attribute(function, attribute, value);
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return name_of(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  if (state == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return name_of(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  return name_of(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr || name_of(function_of(kernel)) == nullptr) {
    return function == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  }
  *function = function_of(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return driver::cuFuncGetName(name, function_of(kernel));
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
  return find_device(device) == nullptr
             ? CUDA_ERROR_INVALID_DEVICE
             : get_function_attribute(function_of(kernel), attribute, value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  return find_device(device) == nullptr
             ? CUDA_ERROR_INVALID_DEVICE
             : set_function_attribute(function_of(kernel), attribute, value);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                     int block_size, size_t shared_bytes) {
  return count_blocks(blocks, function, block_size, shared_bytes);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int block_size, size_t shared_bytes,
                                                              unsigned int flags) {
  return flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE
             ? CUDA_ERROR_INVALID_VALUE
             : count_blocks(blocks, function, block_size, shared_bytes);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize, size_t, int limit) {
  return best_block_size(grid, block, function, limit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize, size_t, int limit,
                                                   unsigned int flags) {
  return flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE
             ? CUDA_ERROR_INVALID_VALUE
             : best_block_size(grid, block, function, limit);
}

}  // namespace braid::vgpu::driver
