#include "vgpu/cudart/runtime.hpp"

#include <mutex>
#include <string>

#include "vgpu/core/context.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::cudart {
namespace {

// Plain data: exit handlers of libraries still call the runtime after thread-local destructors ran.
thread_local cudaError_t t_last_error = cudaSuccess;

constexpr int kMaxDevices = 256;

struct PrimaryContexts {
  std::mutex mutex;
  CUcontext context[kMaxDevices] = {};
};

PrimaryContexts& primary_contexts() {
  static auto* contexts = new PrimaryContexts;  // never destroyed: used by exit handlers
  return *contexts;
}

}  // namespace

cudaError_t finish(cudaError_t error) {
  if (error != cudaSuccess) {
    t_last_error = error;
  }
  return error;
}

cudaError_t finish(CUresult result) { return finish(static_cast<cudaError_t>(result)); }

cudaError_t last_error(bool clear) {
  const cudaError_t error = t_last_error;
  if (clear) {
    t_last_error = cudaSuccess;
  }
  return error;
}

CUresult prepare_driver() {
  const CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS && box_error()) {
    report_once("no virtual GPU: " + box_error()->text());
  }
  return result;
}

CUresult primary_context(int device, CUcontext* context) {
  if (device < 0 || device >= kMaxDevices) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  PrimaryContexts& contexts = primary_contexts();
  const std::lock_guard lock(contexts.mutex);
  if (contexts.context[device] == nullptr) {
    CUdevice handle = 0;
    CUresult result = cuDeviceGet(&handle, device);
    if (result == CUDA_SUCCESS) {
      result = cuDevicePrimaryCtxRetain(&contexts.context[device], handle);
    }
    if (result != CUDA_SUCCESS) {
      return result;
    }
  }
  *context = contexts.context[device];
  return CUDA_SUCCESS;
}

CUresult set_device(int device) {
  CUresult result = prepare_driver();
  if (result != CUDA_SUCCESS) {
    return result;
  }
  CUcontext context = nullptr;
  result = primary_context(device, &context);
  return result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result;
}

CUresult prepare() {
  const CUresult result = ensure_current_device_context();
  return result == CUDA_SUCCESS ? result : prepare_driver();
}

cudaError_t refuse(const char* function, const char* reason) {
  std::string text = std::string(function) + " is not supported on virtual GPUs";
  if (reason != nullptr) {
    text += std::string(": ") + reason;
  }
  report_once(text);
  return finish(cudaErrorNotSupported);
}

}  // namespace braid::vgpu::cudart

using namespace braid::vgpu::cudart;

CUDART_API cudaError_t cudaGetLastError() { return last_error(true); }
CUDART_API cudaError_t cudaPeekAtLastError() { return last_error(false); }

CUDART_API cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *version = CUDART_VERSION;
  return cudaSuccess;
}

CUDART_API cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  return finish(cuDriverGetVersion(version));
}
