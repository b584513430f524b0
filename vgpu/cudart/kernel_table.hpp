// The kernels and device variables that programs registered when they were loaded.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

namespace braid::vgpu::cudart {

/// The driver's function of a kernel named by its host function, or by a handle this runtime gave
/// out (cudaKernel_t, cudaFunction_t); nullptr when it is neither.
CUfunction find_kernel(const void* symbol);

/// The name of the device variable behind a host symbol; empty when it was never registered.
std::string variable_name(const void* symbol);

}  // namespace braid::vgpu::cudart
