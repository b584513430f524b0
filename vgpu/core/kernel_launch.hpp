// CUfunction objects and launching them.
//
// A CUfunction is the address of a `Function`. The runtime makes one for each kernel a program
// registers; nothing but the name is needed. Its implementation is looked up at the first launch.
#pragma once

#include <cuda.h>

#include <string>

#include "vgpu/core/kernel_registry.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

/// The CUfunction of a device symbol; one for each name and process, never destroyed. With `kernel`
/// that implementation is used instead of the registry's.
BRAID_VGPU_API CUfunction find_function(const std::string& name,
                                        const braid_host_kernel* kernel = nullptr);

/// The device symbol; nullptr when the handle is none of ours. The pointer stays valid.
BRAID_VGPU_API const char* name_of(CUfunction function);

/// Dynamic shared memory limit and the like, as cuFuncSetAttribute left them.
BRAID_VGPU_API CUresult get_function_attribute(CUfunction function, CUfunction_attribute attribute,
                                               int* value);
BRAID_VGPU_API CUresult set_function_attribute(CUfunction function, CUfunction_attribute attribute,
                                               int value);

struct LaunchRequest {
  CUfunction function = nullptr;
  KernelShape shape;  // the name is filled in from the function
  CUstream stream = nullptr;
  void** arguments = nullptr;  // kernelParams of cuLaunchKernel; copied before the call returns
  bool cooperative = false;    // holds an SM share for each block until it is done
};

/// What cuLaunchKernel does, without its callback. A name with no host implementation:
/// CUDA_ERROR_NOT_SUPPORTED and a message that names kernel and grid, or, under
/// BRAID_VGPU_KERNELS=skip, work without effect that is reported once.
BRAID_VGPU_API CUresult launch_function(const LaunchRequest& request);

}  // namespace braid::vgpu
