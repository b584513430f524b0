// Device selection, limits, flags, peer access.
#include <cstring>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

namespace {

/// The driver's handle of a device ordinal.
CUresult find_device(int ordinal, CUdevice* device) {
  const CUresult result = prepare_driver();
  return result == CUDA_SUCCESS ? cuDeviceGet(device, ordinal) : result;
}

}  // namespace

CUDART_API cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *count = 0;
  const CUresult result = prepare_driver();
  return finish(result == CUDA_SUCCESS ? cuDeviceGetCount(count) : result);
}

CUDART_API cudaError_t cudaSetDevice(int device) { return finish(set_device(device)); }

CUDART_API cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
  CUdevice handle = 0;
  CUresult result = find_device(device, &handle);
  if (result == CUDA_SUCCESS && (flags & cudaInitDeviceFlagsAreValid) != 0) {
    result = cuDevicePrimaryCtxSetFlags(handle, device_flags & cudaDeviceScheduleMask);
  }
  CUcontext context = nullptr;
  return finish(result == CUDA_SUCCESS ? primary_context(device, &context) : result);
}

CUDART_API cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  const CUresult result = prepare_driver();
  if (result == CUDA_SUCCESS) {
    *device = braid::vgpu::current_device();
  }
  return finish(result);
}

CUDART_API cudaError_t cudaDeviceSynchronize() {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuCtxSynchronize() : result);
}

CUDART_API cudaError_t cudaDeviceReset() {
  CUdevice device = 0;
  CUresult result = find_device(braid::vgpu::current_device(), &device);
  if (result == CUDA_SUCCESS) {
    result = cuDevicePrimaryCtxReset(device);
  }
  last_error(true);
  return finish(result);
}

CUDART_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  CUdevice handle = 0;
  if (device == nullptr || bus_id == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  CUresult result = prepare_driver();
  if (result == CUDA_SUCCESS) {
    result = cuDeviceGetByPCIBusId(&handle, bus_id);
  }
  if (result == CUDA_SUCCESS) {
    *device = handle;
  }
  return finish(result);
}

CUDART_API cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  CUdevice handle = 0;
  const CUresult result = find_device(device, &handle);
  return finish(result == CUDA_SUCCESS ? cuDeviceGetPCIBusId(bus_id, length, handle) : result);
}

CUDART_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  CUdevice handle = 0;
  const CUresult result = find_device(device, &handle);
  return finish(
      result == CUDA_SUCCESS
          ? cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), handle)
          : result);
}

CUDART_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuCtxSetLimit(static_cast<CUlimit>(limit), value)
                                       : result);
}

CUDART_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuCtxGetLimit(value, static_cast<CUlimit>(limit))
                                       : result);
}

CUDART_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuCtxGetStreamPriorityRange(least, greatest) : result);
}

// The split between L1 cache and shared memory is a hint without effect on these devices.
CUDART_API cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (config == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}

CUDART_API cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return finish(config < cudaFuncCachePreferNone || config > cudaFuncCachePreferEqual
                    ? cudaErrorInvalidValue
                    : cudaSuccess);
}

CUDART_API cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  CUdevice device = 0;
  CUresult result = find_device(braid::vgpu::current_device(), &device);
  if (result == CUDA_SUCCESS) {
    result = cuDevicePrimaryCtxSetFlags(device, flags & cudaDeviceScheduleMask);
  }
  return finish(result);
}

CUDART_API cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  CUdevice device = 0;
  int active = 0;
  CUresult result = find_device(braid::vgpu::current_device(), &device);
  if (result == CUDA_SUCCESS) {
    result = cuDevicePrimaryCtxGetState(device, flags, &active);
    *flags |= cudaDeviceMapHost;  // always on with unified addressing
  }
  return finish(result);
}

CUDART_API cudaError_t cudaSetValidDevices(int* devices, int count) {
  int available = 0;
  const cudaError_t error = cudaGetDeviceCount(&available);
  if (error != cudaSuccess) {
    return error;
  }
  for (int i = 0; i < count; ++i) {
    if (devices == nullptr || devices[i] < 0 || devices[i] >= available) {
      return finish(cudaErrorInvalidDevice);
    }
  }
  return cudaSuccess;
}

CUDART_API cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  CUdevice handle = 0;
  CUdevice peer_handle = 0;
  CUresult result = find_device(device, &handle);
  if (result == CUDA_SUCCESS) {
    result = cuDeviceGet(&peer_handle, peer);
  }
  return finish(result == CUDA_SUCCESS ? cuDeviceCanAccessPeer(can_access, handle, peer_handle)
                                       : result);
}

CUDART_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  CUcontext context = nullptr;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS) {
    result = primary_context(peer, &context);
  }
  return finish(result == CUDA_SUCCESS ? cuCtxEnablePeerAccess(context, flags) : result);
}

CUDART_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  CUcontext context = nullptr;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS) {
    result = primary_context(peer, &context);
  }
  return finish(result == CUDA_SUCCESS ? cuCtxDisablePeerAccess(context) : result);
}

CUDART_API cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute,
                                                 int source, int destination) {
  CUdevice from = 0;
  CUdevice to = 0;
  CUresult result = find_device(source, &from);
  if (result == CUDA_SUCCESS) {
    result = cuDeviceGet(&to, destination);
  }
  return finish(
      result == CUDA_SUCCESS
          ? cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attribute), from, to)
          : result);
}

CUDART_API cudaError_t cudaProfilerStart() {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuProfilerStart() : result);
}

CUDART_API cudaError_t cudaProfilerStop() {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuProfilerStop() : result);
}

CUDART_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       cudaChannelFormatKind kind) {
  return cudaChannelFormatDesc{x, y, z, w, kind};
}
