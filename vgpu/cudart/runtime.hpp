// What every file of the runtime stand-in shares: error reporting, context creation, default
// stream.
//
// The runtime is a front end: each call goes through the driver's functions (libcuda.so.1), as in
// CUDA itself, so that CUPTI subscribers of the driver API see the work of runtime programs.
#pragma once

#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

/// Marks a function of the runtime's ABI. generate.py looks for this word to know what is written
/// by hand; all other declared functions are generated to refuse.
#define CUDART_API extern "C" __attribute__((visibility("default")))

namespace braid::vgpu::cudart {

/// Turns a driver result into the runtime's error (the numbers agree) and, unless it is a success,
/// makes it the calling thread's last error.
cudaError_t finish(CUresult result);
cudaError_t finish(cudaError_t error);

/// The calling thread's last error; `clear` resets it to cudaSuccess.
cudaError_t last_error(bool clear);

/// Initialises the driver (once a process) and makes the primary context of the thread's device
/// current if no context is. Returns the reason when there is no usable device.
CUresult prepare();

/// Initialises the driver only.
CUresult prepare_driver();

/// Makes `device`'s primary context current for the calling thread.
CUresult set_device(int device);

/// The primary context of `device`, retained for the life of the process.
CUresult primary_context(int device, CUcontext* context);

/// Says once on stderr that virtual GPUs do not have `function`; `reason` may be null. Answers
/// cudaErrorNotSupported.
cudaError_t refuse(const char* function, const char* reason = nullptr);

inline CUdeviceptr device_pointer(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace braid::vgpu::cudart
