// Attributes of kernels and occupancy.
//
// No device code is read, so registers and static shared memory are unknown and count as zero; what
// is answered follows from the device's limits alone.
#include <algorithm>
#include <cstring>

#include "vgpu/core/kernel_launch.hpp"
#include "vgpu/core/kernel_registry.hpp"
#include "vgpu/core/vgpu.hpp"
#include "vgpu/cudart/kernel_table.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

namespace {

int device_attribute(CUdevice_attribute attribute) {
  CUdevice device = 0;
  int value = 0;
  const bool known = cuDeviceGet(&device, braid::vgpu::current_device()) == CUDA_SUCCESS &&
                     cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS;
  return known ? value : 0;
}

int function_attribute(CUfunction function, CUfunction_attribute attribute, int otherwise) {
  int value = otherwise;
  return cuFuncGetAttribute(&value, attribute, function) == CUDA_SUCCESS ? value : otherwise;
}

cudaError_t find_prepared(const void* symbol, CUfunction* function) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return static_cast<cudaError_t>(result);
  }
  *function = find_kernel(symbol);
  return *function == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

int blocks_per_multiprocessor(int block_size, size_t dynamic_shared_bytes) {
  const int threads = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  const int warp = std::max(1, device_attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  int blocks = threads / ((block_size + warp - 1) / warp * warp);
  const int limit = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  if (limit > 0) {
    blocks = std::min(blocks, limit);
  }
  const auto shared = static_cast<size_t>(
      device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  const size_t used =
      dynamic_shared_bytes +
      static_cast<size_t>(device_attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
  if (used > 0 && shared > 0) {
    blocks = std::min(blocks, static_cast<int>(shared / used));
  }
  return blocks;
}

}  // namespace

CUDART_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
  if (attributes == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  CUfunction function = nullptr;
  const cudaError_t error = find_prepared(symbol, &function);
  if (error != cudaSuccess) {
    return finish(error);
  }
  *attributes = cudaFuncAttributes{};
  attributes->maxThreadsPerBlock =
      function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                         device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  attributes->maxDynamicSharedSizeBytes =
      function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                         device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  attributes->preferredShmemCarveout =
      function_attribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1);
  attributes->binaryVersion = 10 * device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                              device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  attributes->ptxVersion = attributes->binaryVersion;
  return cudaSuccess;
}

CUDART_API cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute attribute,
                                            int value) {
  CUfunction function = nullptr;
  const cudaError_t error = find_prepared(symbol, &function);
  if (error != cudaSuccess) {
    return finish(error);
  }
  return finish(cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attribute), value));
}

CUDART_API cudaError_t cudaFuncSetCacheConfig(const void* symbol, cudaFuncCache config) {
  CUfunction function = nullptr;
  const cudaError_t error = find_prepared(symbol, &function);
  return error == cudaSuccess ? cudaDeviceSetCacheConfig(config) : finish(error);
}

CUDART_API cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
  CUfunction function = nullptr;
  const cudaError_t error =
      name == nullptr ? cudaErrorInvalidValue : find_prepared(symbol, &function);
  if (error == cudaSuccess) {
    *name = braid::vgpu::name_of(function);
  }
  return finish(error);
}

CUDART_API cudaError_t cudaFuncGetParamInfo(const void* symbol, size_t index, size_t* offset,
                                            size_t* size) {
  CUfunction function = nullptr;
  const cudaError_t error = find_prepared(symbol, &function);
  if (error != cudaSuccess) {
    return finish(error);
  }
  const auto* kernel = braid::vgpu::find_host_kernel(braid::vgpu::name_of(function));
  if (kernel == nullptr) {
    return refuse("cudaFuncGetParamInfo", "the kernel has no host implementation");
  }
  if (offset == nullptr || index >= kernel->argument_count) {
    return finish(cudaErrorInvalidValue);
  }
  // Arguments lie as members of a structure would; each is aligned to its size, up to 16 bytes.
  size_t position = 0;
  for (size_t i = 0;; ++i) {
    const size_t bytes = kernel->argument_bytes[i];
    const size_t lowest_bit = bytes & (~bytes + 1);
    const size_t alignment = std::clamp<size_t>(lowest_bit, 1, 16);
    position = (position + alignment - 1) / alignment * alignment;
    if (i == index) {
      *offset = position;
      if (size != nullptr) {
        *size = bytes;
      }
      return cudaSuccess;
    }
    position += bytes;
  }
}

CUDART_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* symbol, int block_size, size_t dynamic_shared_bytes,
    unsigned int flags) {
  (void)flags;
  CUfunction function = nullptr;
  const cudaError_t error = blocks == nullptr || block_size <= 0 ? cudaErrorInvalidValue
                                                                 : find_prepared(symbol, &function);
  if (error == cudaSuccess) {
    *blocks = blocks_per_multiprocessor(block_size, dynamic_shared_bytes);
  }
  return finish(error);
}

CUDART_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                     const void* symbol,
                                                                     int block_size,
                                                                     size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, symbol, block_size, dynamic_shared_bytes, cudaOccupancyDefault);
}

CUDART_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* symbol,
                                                                 int blocks, int block_size) {
  CUfunction function = nullptr;
  const cudaError_t error = bytes == nullptr || blocks <= 0 || block_size <= 0
                                ? cudaErrorInvalidValue
                                : find_prepared(symbol, &function);
  if (error == cudaSuccess) {
    const int shared = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    const int reserved = device_attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    *bytes = static_cast<size_t>(std::max(0, shared / blocks - reserved));
  }
  return finish(error);
}
