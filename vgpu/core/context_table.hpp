// The contexts of this process and the thread's stack of them.
#pragma once

#include <cuda.h>

#include <vector>

#include "vgpu/core/stream.hpp"

namespace braid::vgpu {

/// The context of a handle; nullptr when it is none, or destroyed.
BRAID_VGPU_API Context* find_context(CUcontext handle);
BRAID_VGPU_API std::vector<Context*> contexts_of(int device);

BRAID_VGPU_API CUresult retain_primary_context(int device, CUcontext* out);
BRAID_VGPU_API CUresult release_primary_context(int device);
BRAID_VGPU_API CUresult reset_primary_context(int device);
BRAID_VGPU_API CUresult set_primary_context_flags(int device, unsigned flags);
BRAID_VGPU_API CUresult primary_context_state(int device, unsigned* flags, int* active);

BRAID_VGPU_API CUresult create_context(int device, unsigned flags, CUcontext* out);
BRAID_VGPU_API CUresult destroy_context(CUcontext handle);

BRAID_VGPU_API CUresult set_current_context(CUcontext handle);  // nullptr: pops
BRAID_VGPU_API CUresult push_context(CUcontext handle);
BRAID_VGPU_API CUresult pop_context(CUcontext* out);

/// PerThreadDefaultStream is in force on this thread.
bool null_stream_is_per_thread();

/// While it lives, the thread runs a host function and may make no CUDA call.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
};

}  // namespace braid::vgpu
