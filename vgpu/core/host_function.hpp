// Host functions in stream order. They run on a thread of their own, as the driver's do: one that
// blocks delays other host functions, but no device work outside its stream.
#pragma once

#include <functional>

#include "vgpu/core/stream.hpp"

namespace braid::vgpu {

/// CUDA calls made by `function` answer CUDA_ERROR_NOT_PERMITTED. It gets the device's sticky
/// error.
BRAID_VGPU_API CUresult enqueue_host_function(const StreamRef& stream,
                                              std::function<void(CUresult)> function);

}  // namespace braid::vgpu
