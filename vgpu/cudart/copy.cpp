// Copies and fills.
#include <string>

#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

namespace {

bool known_kind(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

/// Through the driver's function for the direction, as CUPTI subscribers expect.
CUresult copy_now(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoD(device_pointer(destination), source, bytes);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoH(destination, device_pointer(source), bytes);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoD(device_pointer(destination), device_pointer(source), bytes);
    default:
      return cuMemcpy(device_pointer(destination), device_pointer(source), bytes);
  }
}

CUresult copy_later(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                    CUstream stream) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoDAsync(device_pointer(destination), source, bytes, stream);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoHAsync(destination, device_pointer(source), bytes, stream);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoDAsync(device_pointer(destination), device_pointer(source), bytes, stream);
    default:
      return cuMemcpyAsync(device_pointer(destination), device_pointer(source), bytes, stream);
  }
}

/// The driver's description of a two-dimensional copy. Unified addressing finds out what is where.
CUDA_MEMCPY2D describe_2d(void* destination, size_t destination_pitch, const void* source,
                          size_t source_pitch, size_t width, size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = device_pointer(source);
  copy.srcHost = source;
  copy.srcPitch = source_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = device_pointer(destination);
  copy.dstHost = destination;
  copy.dstPitch = destination_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

void set_host_side(CUDA_MEMCPY2D& copy, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  }
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) {
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  }
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) {
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  }
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  }
}

}  // namespace

CUDART_API cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes,
                                  cudaMemcpyKind kind) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return finish(result);
  }
  if (!known_kind(kind)) {
    return finish(cudaErrorInvalidMemcpyDirection);
  }
  return finish(bytes == 0 ? CUDA_SUCCESS : copy_now(destination, source, bytes, kind));
}

CUDART_API cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes,
                                       cudaMemcpyKind kind, cudaStream_t stream) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return finish(result);
  }
  if (!known_kind(kind)) {
    return finish(cudaErrorInvalidMemcpyDirection);
  }
  return finish(bytes == 0 ? CUDA_SUCCESS : copy_later(destination, source, bytes, kind, stream));
}

CUDART_API cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device,
                                           const void* source, int source_device, size_t bytes,
                                           cudaStream_t stream) {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS) {
    result = primary_context(destination_device, &to);
  }
  if (result == CUDA_SUCCESS) {
    result = primary_context(source_device, &from);
  }
  if (result != CUDA_SUCCESS || bytes == 0) {
    return finish(result);
  }
  return finish(cuMemcpyPeerAsync(device_pointer(destination), to, device_pointer(source), from,
                                  bytes, stream));
}

CUDART_API cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source,
                                      int source_device, size_t bytes) {
  const cudaError_t error =
      cudaMemcpyPeerAsync(destination, destination_device, source, source_device, bytes, nullptr);
  return error == cudaSuccess ? finish(cuStreamSynchronize(nullptr)) : error;
}

CUDART_API cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch,
                                         const void* source, size_t source_pitch, size_t width,
                                         size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return finish(result);
  }
  if (!known_kind(kind)) {
    return finish(cudaErrorInvalidMemcpyDirection);
  }
  if (width > destination_pitch || width > source_pitch) {
    return finish(cudaErrorInvalidPitchValue);
  }
  if (width == 0 || height == 0) {
    return cudaSuccess;
  }
  CUDA_MEMCPY2D copy =
      describe_2d(destination, destination_pitch, source, source_pitch, width, height);
  set_host_side(copy, kind);
  return finish(cuMemcpy2DAsync(&copy, stream));
}

CUDART_API cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                                    size_t source_pitch, size_t width, size_t height,
                                    cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpy2DAsync(destination, destination_pitch, source, source_pitch,
                                              width, height, kind, nullptr);
  return error == cudaSuccess ? finish(cuStreamSynchronize(nullptr)) : error;
}

CUDART_API cudaError_t cudaMemcpyBatchAsync(void* const* destinations, const void* const* sources,
                                            const size_t* sizes, size_t count,
                                            cudaMemcpyAttributes* attributes,
                                            size_t* attribute_indices, size_t attribute_count,
                                            cudaStream_t stream) {
  (void)attributes;  // hints: access order and placement make no difference to a copy in order
  if (destinations == nullptr || sources == nullptr || sizes == nullptr || count == 0 ||
      attribute_count > count || (attribute_count > 0 && attribute_indices == nullptr)) {
    return finish(cudaErrorInvalidValue);
  }
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error =
        cudaMemcpyAsync(destinations[i], sources[i], sizes[i], cudaMemcpyDefault, stream);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

CUDART_API cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes,
                                       cudaStream_t stream) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS || bytes == 0) {
    return finish(result);
  }
  return finish(
      cuMemsetD8Async(device_pointer(pointer), static_cast<unsigned char>(value), bytes, stream));
}

CUDART_API cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS || bytes == 0) {
    return finish(result);
  }
  return finish(cuMemsetD8(device_pointer(pointer), static_cast<unsigned char>(value), bytes));
}

CUDART_API cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width,
                                         size_t height, cudaStream_t stream) {
  if (width > pitch) {
    return finish(cudaErrorInvalidPitchValue);
  }
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        cudaMemsetAsync(static_cast<char*>(pointer) + row * pitch, value, width, stream);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

CUDART_API cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width,
                                    size_t height) {
  const cudaError_t error = cudaMemset2DAsync(pointer, pitch, value, width, height, nullptr);
  return error == cudaSuccess ? finish(cuStreamSynchronize(nullptr)) : error;
}
