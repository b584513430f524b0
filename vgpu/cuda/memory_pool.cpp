// Stream-ordered allocation.
#include "vgpu/core/memory_pool.hpp"

#include <cuda.h>

#include "vgpu/core/memory.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

CUmemoryPool handle_of(MemoryPool* pool) { return reinterpret_cast<CUmemoryPool>(pool); }

CUresult allocate(CUdeviceptr* out, size_t bytes, MemoryPool* pool, const StreamRef& stream) {
  if (out == nullptr || pool == nullptr || pool->device() != stream->device) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t address = 0;
  const CUresult result = pool->allocate(stream, bytes, &address);
  if (result == CUDA_SUCCESS) {
    *out = address;
  }
  return result;
}

}  // namespace

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  if (find_device(device) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = handle_of(default_pool(device));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  if (find_device(device) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = handle_of(current_pool(device));
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  if (find_device(device) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  MemoryPool* pool = find_pool(handle);
  if (pool == nullptr || pool->device() != device) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  set_current_pool(device, pool);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  if (out == nullptr || properties == nullptr ||
      properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    report_once(
        "cuMemPoolCreate: pools that other processes can import are not available on "
        "virtual GPUs (CUDA_ERROR_NOT_SUPPORTED)");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (find_device(properties->location.id) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *out = handle_of(create_pool(properties->location.id));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) { return destroy_pool(handle); }

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MemoryPool* pool = find_pool(handle);
  return pool == nullptr || value == nullptr ? CUDA_ERROR_INVALID_VALUE
                                             : pool->get_attribute(attribute, value);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MemoryPool* pool = find_pool(handle);
  return pool == nullptr || value == nullptr ? CUDA_ERROR_INVALID_VALUE
                                             : pool->set_attribute(attribute, value);
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  MemoryPool* pool = find_pool(handle);
  if (pool == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  pool->trim(keep);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* descriptions,
                            size_t count) {
  const MemoryPool* pool = find_pool(handle);
  if (pool == nullptr || (descriptions == nullptr && count > 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc& wanted = descriptions[i];
    if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        find_device(wanted.location.id) == nullptr) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    if (wanted.location.id == pool->device()) {
      continue;
    }
    if (wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      disable_peer_access(wanted.location.id, pool->device());
    } else if (enable_peer_access(wanted.location.id, pool->device()) ==
               CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
  StreamRef stream;
  const CUresult error = find_stream(handle, &stream);
  return error != CUDA_SUCCESS ? error : allocate(out, bytes, current_pool(stream->device), stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                 CUstream handle) {
  StreamRef stream;
  const CUresult error = find_stream(handle, &stream);
  return error != CUDA_SUCCESS ? error : allocate(out, bytes, find_pool(pool), stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  StreamRef stream;
  const CUresult error = find_stream(handle, &stream);
  return error != CUDA_SUCCESS ? error : free_stream_ordered(stream, address);
}

}  // namespace braid::vgpu::driver
