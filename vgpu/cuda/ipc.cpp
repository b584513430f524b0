// Memory and events of other processes.
#include <cuda.h>

#include "vgpu/core/event.hpp"
#include "vgpu/core/memory.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return export_allocation(address, handle);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned int flags) {
  const Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (out == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t address = 0;
  const CUresult result = open_allocation(context->device(), handle, &address);
  if (result == CUDA_SUCCESS) {
    *out = address;
  }
  return result;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) { return close_allocation(address); }

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event_handle) {
  const EventRef event = find_event(event_handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : event->export_handle(handle);
}

CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
  return open_event(handle, out);
}

}  // namespace braid::vgpu::driver
