// Allocation of device, host and managed memory.
#include "vgpu/core/memory.hpp"

#include <cuda.h>

#include "vgpu/core/memory_pool.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

constexpr size_t kPitchAlignment = 512;

CUresult allocate(CUdeviceptr* out, size_t bytes, MemoryKind kind) {
  Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (out == nullptr || bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t address = 0;
  const CUresult result = allocate_device(*context, bytes, kind, &address);
  if (result == CUDA_SUCCESS) {
    *out = address;
  }
  return result;
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (free == nullptr || total == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  memory_info(context->device(), free, total);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return allocate(out, bytes, MemoryKind::kDevice);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height,
                            unsigned int element_bytes) {
  if (pitch == nullptr || width == 0 || height == 0 || width > SIZE_MAX - kPitchAlignment ||
      (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t rounded = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (height > SIZE_MAX / rounded) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult result = allocate(out, rounded * height, MemoryKind::kDevice);
  if (result == CUDA_SUCCESS) {
    *pitch = rounded;
  }
  return result;
}

CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned int flags) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return allocate(out, bytes, MemoryKind::kManaged);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  MemoryPool* pool = pool_of(address);
  const CUresult result = free_device(address);
  if (pool != nullptr && result != CUDA_ERROR_INVALID_VALUE) {
    pool->forget(address);
  }
  return result;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  const auto allocation = find_allocation(address);
  if (!allocation) {
    return CUDA_ERROR_NOT_FOUND;
  }
  if (base != nullptr) {
    *base = allocation->base;
  }
  if (bytes != nullptr) {
    *bytes = allocation->bytes;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int flags) {
  constexpr unsigned kFlags =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (current() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (out == nullptr || (flags & ~kFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return allocate_pinned(bytes, flags, out);
}

CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return driver::cuMemHostAlloc(out, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult cuMemFreeHost(void* address) { return free_pinned(address); }

CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned int flags) {
  constexpr unsigned kFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (current() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return (flags & ~kFlags) != 0 ? CUDA_ERROR_INVALID_VALUE : register_host(address, bytes, flags);
}

CUresult cuMemHostUnregister(void* address) { return unregister_host(address); }

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* address, unsigned int flags) {
  if (out == nullptr || flags != 0 || !find_host_range(reinterpret_cast<uint64_t>(address))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = reinterpret_cast<CUdeviceptr>(address);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* address) {
  const auto range = find_host_range(reinterpret_cast<uint64_t>(address));
  if (flags == nullptr || !range || range->registered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *flags = range->flags;
  return CUDA_SUCCESS;
}

// Hints about managed memory: it has one place here, so there is nothing to move.
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation) {
  const auto allocation = find_allocation(address);
  return allocation && bytes <= allocation->bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned int flags,
                               CUstream handle) {
  StreamRef stream;
  if (const CUresult error = find_stream(handle, &stream); error != CUDA_SUCCESS) {
    return error;
  }
  const auto allocation = find_allocation(address);
  const bool managed = allocation && allocation->kind == MemoryKind::kManaged;
  return managed && bytes <= allocation->bytes && flags == 0 ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace braid::vgpu::driver
