// Memory and events shared between processes.
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));
static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle));

namespace {

CUipcMemHandle memory_handle(const cudaIpcMemHandle_t& handle) {
  CUipcMemHandle result;
  static_assert(sizeof(result.reserved) == sizeof(handle.reserved));
  __builtin_memcpy(result.reserved, handle.reserved, sizeof(result.reserved));
  return result;
}

}  // namespace

CUDART_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  const CUresult result = prepare();
  return finish(
      result == CUDA_SUCCESS
          ? cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle), device_pointer(pointer))
          : result);
}

CUDART_API cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle,
                                            unsigned int flags) {
  if (pointer == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  CUdeviceptr address = 0;
  CUresult result = prepare();
  if (result == CUDA_SUCCESS) {
    result = cuIpcOpenMemHandle(&address, memory_handle(handle), flags);
  }
  *pointer = reinterpret_cast<void*>(address);
  return finish(result);
}

CUDART_API cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return finish(cuIpcCloseMemHandle(device_pointer(pointer)));
}

CUDART_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return finish(cuIpcGetEventHandle(reinterpret_cast<CUipcEventHandle*>(handle), event));
}

CUDART_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  CUipcEventHandle driver_handle;
  __builtin_memcpy(driver_handle.reserved, handle.reserved, sizeof(driver_handle.reserved));
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? cuIpcOpenEventHandle(event, driver_handle) : result);
}
