// Device, pinned and managed memory; pointer attributes; registered host memory; device variables.
#include <string>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

CUDART_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *pointer = nullptr;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS && bytes > 0) {
    CUdeviceptr address = 0;
    result = cuMemAlloc(&address, bytes);
    *pointer = reinterpret_cast<void*>(address);
  }
  return finish(result);
}

CUDART_API cudaError_t cudaFree(void* pointer) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS || pointer == nullptr) {
    return finish(result);
  }
  return finish(cuMemFree(device_pointer(pointer)));
}

CUDART_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pointer == nullptr || pitch == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  constexpr size_t kRowAlignment = 512;
  *pitch = (width + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  return cudaMalloc(pointer, *pitch * height);
}

CUDART_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  if (pointer == nullptr || bytes == 0 ||
      (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) {
    return finish(cudaErrorInvalidValue);
  }
  CUdeviceptr address = 0;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS) {
    result = cuMemAllocManaged(&address, bytes, flags);
  }
  if (result == CUDA_SUCCESS) {
    *pointer = reinterpret_cast<void*>(address);
  }
  return finish(result);
}

CUDART_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  if (pointer == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *pointer = nullptr;
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS || bytes == 0) {
    return finish(result);
  }
  return finish(cuMemHostAlloc(pointer, bytes, flags));
}

CUDART_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

CUDART_API cudaError_t cudaFreeHost(void* pointer) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS || pointer == nullptr) {
    return finish(result);
  }
  return finish(cuMemFreeHost(pointer));
}

CUDART_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuMemHostRegister(pointer, bytes, flags) : result);
}

CUDART_API cudaError_t cudaHostUnregister(void* pointer) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuMemHostUnregister(pointer) : result);
}

CUDART_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  if (device == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  CUdeviceptr address = 0;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS) {
    result = cuMemHostGetDevicePointer(&address, host, flags);
  }
  *device = reinterpret_cast<void*>(address);
  return finish(result);
}

CUDART_API cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuMemHostGetFlags(flags, host) : result);
}

CUDART_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuMemGetInfo(free, total) : result);
}

CUDART_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                const void* pointer) {
  if (attributes == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return finish(result);
  }
  *attributes = cudaPointerAttributes{};
  auto* address = const_cast<void*>(pointer);
  const auto allocation = braid::vgpu::find_allocation(reinterpret_cast<uint64_t>(pointer));
  if (!allocation) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = address;
    return cudaSuccess;
  }
  attributes->device = allocation->device;
  attributes->devicePointer = address;
  switch (allocation->kind) {
    case braid::vgpu::MemoryKind::kDevice:
      attributes->type = cudaMemoryTypeDevice;
      break;
    case braid::vgpu::MemoryKind::kPinnedHost:
      attributes->type = cudaMemoryTypeHost;
      attributes->hostPointer = address;
      break;
    case braid::vgpu::MemoryKind::kManaged:
      attributes->type = cudaMemoryTypeManaged;
      attributes->hostPointer = address;
      break;
  }
  return cudaSuccess;
}

// Placement hints of managed memory: virtual GPUs keep one copy that all can reach.
CUDART_API cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                     cudaMemLocation location) {
  (void)advice;
  (void)location;
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return finish(result);
  }
  const auto allocation = braid::vgpu::find_allocation(reinterpret_cast<uint64_t>(pointer));
  const bool managed =
      allocation && allocation->kind == braid::vgpu::MemoryKind::kManaged &&
      reinterpret_cast<uint64_t>(pointer) + bytes <= allocation->base + allocation->bytes;
  return finish(managed ? cudaSuccess : cudaErrorInvalidValue);
}

CUDART_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes,
                                            cudaMemLocation location, unsigned int flags,
                                            cudaStream_t stream) {
  if (flags != 0 || !braid::vgpu::is_stream(stream)) {
    return finish(cudaErrorInvalidValue);
  }
  return cudaMemAdvise(pointer, bytes, cudaMemAdviseSetPreferredLocation, location);
}
