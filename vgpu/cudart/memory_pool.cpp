// Stream-ordered allocation.
#include "vgpu/core/vgpu.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

namespace {

CUresult default_pool(int device, CUmemoryPool* pool) {
  CUdevice handle = 0;
  CUresult result = prepare_driver();
  if (result == CUDA_SUCCESS) {
    result = cuDeviceGet(&handle, device);
  }
  return result == CUDA_SUCCESS ? cuDeviceGetDefaultMemPool(pool, handle) : result;
}

}  // namespace

CUDART_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  if (pointer == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *pointer = nullptr;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS && bytes > 0) {
    CUdeviceptr address = 0;
    result = cuMemAllocAsync(&address, bytes, stream);
    *pointer = reinterpret_cast<void*>(address);
  }
  return finish(result);
}

CUDART_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                               cudaStream_t stream) {
  if (pointer == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *pointer = nullptr;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS && bytes > 0) {
    CUdeviceptr address = 0;
    result = cuMemAllocFromPoolAsync(&address, bytes, pool, stream);
    *pointer = reinterpret_cast<void*>(address);
  }
  return finish(result);
}

CUDART_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS || pointer == nullptr) {
    return finish(result);
  }
  return finish(cuMemFreeAsync(device_pointer(pointer), stream));
}

CUDART_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return finish(default_pool(device, pool));
}

CUDART_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  CUdevice handle = 0;
  CUresult result = prepare_driver();
  if (result == CUDA_SUCCESS) {
    result = cuDeviceGet(&handle, device);
  }
  return finish(result == CUDA_SUCCESS ? cuDeviceGetMemPool(pool, handle) : result);
}

CUDART_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  CUdevice handle = 0;
  CUresult result = prepare_driver();
  if (result == CUDA_SUCCESS) {
    result = cuDeviceGet(&handle, device);
  }
  return finish(result == CUDA_SUCCESS ? cuDeviceSetMemPool(handle, pool) : result);
}

CUDART_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS
                    ? cuMemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(properties))
                    : result);
}

CUDART_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return finish(cuMemPoolDestroy(pool));
}

CUDART_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep) {
  return finish(cuMemPoolTrimTo(pool, bytes_to_keep));
}

CUDART_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                               void* value) {
  return finish(cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value));
}

CUDART_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                               void* value) {
  return finish(cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value));
}

CUDART_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list,
                                            size_t count) {
  static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc));
  return finish(cuMemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(list), count));
}

CUDART_API cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                            cudaMemLocation* location) {
  static_assert(sizeof(cudaMemLocation) == sizeof(CUmemLocation));
  return finish(cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                                   reinterpret_cast<CUmemLocation*>(location)));
}
