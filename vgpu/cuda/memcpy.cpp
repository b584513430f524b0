// The copy functions.
#include <cuda.h>

#include "vgpu/core/memory.hpp"
#include "vgpu/cuda/copy.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

CUresult copy_line(void* destination, const void* source, size_t bytes, CUstream stream,
                   HostSync sync) {
  return copy(destination, source, {bytes, 1, bytes, bytes}, stream, sync);
}

bool is_device_side(CUdeviceptr address, size_t bytes) {
  return bytes == 0 || locate(host_pointer(address), bytes).place != Place::kPageable;
}

CUresult copy_to_device(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream,
                        HostSync sync) {
  return is_device_side(destination, bytes)
             ? copy_line(host_pointer(destination), source, bytes, stream, sync)
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_to_host(void* destination, CUdeviceptr source, size_t bytes, CUstream stream,
                      HostSync sync) {
  return is_device_side(source, bytes)
             ? copy_line(destination, host_pointer(source), bytes, stream, sync)
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_on_device(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream,
                        HostSync sync) {
  return is_device_side(destination, bytes) && is_device_side(source, bytes)
             ? copy_line(host_pointer(destination), host_pointer(source), bytes, stream, sync)
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_peer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                   CUcontext source_context, size_t bytes, CUstream stream, HostSync sync) {
  if (find_context(destination_context) == nullptr || find_context(source_context) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return copy_on_device(destination, source, bytes, stream, sync);
}

// The first byte of one side of a 2D copy; nullptr: arrays, which virtual GPUs do not have.
std::byte* start_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y,
                    size_t pitch) {
  auto* base = type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : host_pointer(device);
  return type == CU_MEMORYTYPE_ARRAY || base == nullptr
             ? nullptr
             : static_cast<std::byte*>(base) + y * pitch + x;
}

CUresult copy_2d(const CUDA_MEMCPY2D* request, CUstream stream, HostSync sync) {
  if (request == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (request->WidthInBytes == 0 || request->Height == 0) {
    return CUDA_SUCCESS;
  }
  if (request->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
      request->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    report_once(
        "cuMemcpy2D with a CUDA array is not available on virtual GPUs "
        "(CUDA_ERROR_NOT_SUPPORTED)");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const size_t source_pitch =
      request->srcPitch != 0 ? request->srcPitch : request->srcXInBytes + request->WidthInBytes;
  const size_t destination_pitch =
      request->dstPitch != 0 ? request->dstPitch : request->dstXInBytes + request->WidthInBytes;
  const std::byte* source = start_of(request->srcMemoryType, request->srcHost, request->srcDevice,
                                     request->srcXInBytes, request->srcY, source_pitch);
  std::byte* destination = start_of(request->dstMemoryType, request->dstHost, request->dstDevice,
                                    request->dstXInBytes, request->dstY, destination_pitch);
  if (source == nullptr || destination == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return copy(destination, source,
              {request->WidthInBytes, request->Height, source_pitch, destination_pitch}, stream,
              sync);
}

constexpr HostSync kSync = HostSync::kSynchronous;
constexpr HostSync kAsync = HostSync::kAsynchronous;

}  // namespace

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return copy_line(host_pointer(destination), host_pointer(source), bytes, nullptr, kSync);
}
CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return copy_line(host_pointer(destination), host_pointer(source), bytes, stream, kAsync);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes) {
  return copy_to_device(destination, source, bytes, nullptr, kSync);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t bytes,
                              CUstream stream) {
  return copy_to_device(destination, source, bytes, stream, kAsync);
}
CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t bytes) {
  return copy_to_host(destination, source, bytes, nullptr, kSync);
}
CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t bytes,
                              CUstream stream) {
  return copy_to_host(destination, source, bytes, stream, kAsync);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return copy_on_device(destination, source, bytes, nullptr, kSync);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                              CUstream stream) {
  return copy_on_device(destination, source, bytes, stream, kAsync);
}
CUresult cuMemcpyPeer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                      CUcontext source_context, size_t bytes) {
  return copy_peer(destination, destination_context, source, source_context, bytes, nullptr, kSync);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext destination_context,
                           CUdeviceptr source, CUcontext source_context, size_t bytes,
                           CUstream stream) {
  return copy_peer(destination, destination_context, source, source_context, bytes, stream, kAsync);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* request) { return copy_2d(request, nullptr, kSync); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* request) {
  return copy_2d(request, nullptr, kSync);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* request, CUstream stream) {
  return copy_2d(request, stream, kAsync);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* destinations, CUdeviceptr* sources, size_t* sizes,
                               size_t count, CUmemcpyAttributes*, size_t*, size_t,
                               CUstream stream) {
  if (count == 0 || destinations == nullptr || sources == nullptr || sizes == nullptr ||
      stream == nullptr || stream == CU_STREAM_LEGACY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult error = copy_line(host_pointer(destinations[i]), host_pointer(sources[i]),
                                     sizes[i], stream, kAsync);
    if (error != CUDA_SUCCESS) {
      return error;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace braid::vgpu::driver
