// What a pointer points to.
#include <cuda.h>

#include <cstring>

#include "vgpu/core/memory.hpp"
#include "vgpu/core/memory_pool.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

template <typename T>
CUresult put(void* data, T value) {
  std::memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

struct Pointee {
  uint64_t address = 0;
  Allocation allocation;
  bool is_host = false;
};

CUresult get(void* data, CUpointer_attribute attribute, const Pointee& p) {
  const bool managed = p.allocation.kind == MemoryKind::kManaged;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      Context* context = p.is_host ? current() : context_of_allocation(p.allocation.base);
      return put(data, reinterpret_cast<CUcontext>(context));
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<unsigned>(data, p.is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put<CUdeviceptr>(data, p.address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!p.is_host && !managed) {
        put<void*>(data, nullptr);
        return CUDA_ERROR_INVALID_VALUE;
      }
      return put(data, host_pointer(p.address));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put<unsigned long long>(
          data, p.allocation.id * 64 + static_cast<uint64_t>(p.is_host ? 63 : p.allocation.device));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put<unsigned>(data, managed ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put<int>(data, p.allocation.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put<CUdeviceptr>(data, p.allocation.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put<size_t>(data, p.allocation.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put<unsigned char>(data, 1);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put<unsigned char>(
          data, !p.is_host && !managed && pool_of(p.allocation.base) == nullptr ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put<unsigned long long>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(data, reinterpret_cast<CUmemoryPool>(pool_of(p.allocation.base)));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put<size_t>(data, p.allocation.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put<void*>(data, host_pointer(p.allocation.base));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put<unsigned long long>(data, p.allocation.id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// What CUDA answers for memory it does not know.
CUresult get_unknown(void* data, CUpointer_attribute attribute, uint64_t address) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put(data, host_pointer(address));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put<int>(data, CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put<unsigned char>(data, 0);
    default:
      return put<unsigned>(data, 0);
  }
}

bool find(CUdeviceptr address, Pointee* out) {
  const auto allocation = find_allocation(address);
  if (!allocation) {
    return false;
  }
  *out = {address, *allocation, allocation->kind == MemoryKind::kPinnedHost};
  return true;
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  Pointee pointee;
  if (data == nullptr || !find(address, &pointee)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return get(data, attribute, pointee);
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  if (attributes == nullptr || data == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Pointee pointee;
  const bool known = find(address, &pointee);
  for (unsigned i = 0; i < count; ++i) {
    if (!known) {
      get_unknown(data[i], attributes[i], address);
      continue;
    }
    const CUresult error = get(data[i], attributes[i], pointee);
    if (error != CUDA_SUCCESS && attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER) {
      return error;
    }
  }
  return CUDA_SUCCESS;
}

// Copies of this box are ordered with the stream they are in, whether asked to synchronise or not.
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  return value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS &&
                 find_allocation(address)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace braid::vgpu::driver
