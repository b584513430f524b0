// What the generated entry points need.
#pragma once

#include <generated_cuda_meta.h>

#include "vgpu/core/callback_hub.hpp"
#include "vgpu/core/context.hpp"
#include "vgpu/core/kernel_launch.hpp"
#include "vgpu/cuda/driver.hpp"

namespace braid::vgpu::driver {

/// Says once that the function is missing; CUDA_ERROR_NOT_SUPPORTED.
CUresult report_unsupported(const char* function);

}  // namespace braid::vgpu::driver

using namespace braid::vgpu;  // NOLINT: for generated code and the file that defines this
using braid::vgpu::driver::report_unsupported;
