// Small helpers of the driver functions.
#pragma once

#include <cuda.h>

#include "vgpu/core/context.hpp"
#include "vgpu/core/context_table.hpp"
#include "vgpu/core/stream.hpp"
#include "vgpu/core/vgpu.hpp"
#include "vgpu/cuda/driver.hpp"

namespace braid::vgpu::driver {

/// The device of a handle, or nullptr.
inline const DeviceInfo* find_device(CUdevice device) {
  const auto& all = devices();
  return device >= 0 && static_cast<size_t>(device) < all.size() ? &all[static_cast<size_t>(device)]
                                                                 : nullptr;
}

/// The calling thread's context, or nullptr: then the answer is CUDA_ERROR_INVALID_CONTEXT.
inline Context* current() { return find_context(current_context()); }

inline void* host_pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace braid::vgpu::driver
