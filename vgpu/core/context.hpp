// Contexts: which device a thread works on, and the context's default streams.
#pragma once

#include <cuda.h>

#include <memory>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

/// CUDA_SUCCESS when the driver may be used by this thread: cuInit was called, the process is not a
/// fork child of one that had called it, and the thread is not running a host function.
BRAID_VGPU_API CUresult check_ready();

/// cuInit: reads the box, joins the session. Idempotent.
BRAID_VGPU_API CUresult initialize();

/// Makes the primary context of the thread's device current if the thread has none, initialising
/// the driver at the first use; what every runtime call does first. One thread-local read when
/// there is nothing to do.
BRAID_VGPU_API CUresult ensure_current_device_context();

/// The thread's current context, or nullptr.
BRAID_VGPU_API CUcontext current_context();

/// Marks the thread so that a null stream means the per-thread default stream while it lives; the
/// _ptsz and _ptds entry points use it.
class BRAID_VGPU_API PerThreadDefaultStream {
 public:
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;

 private:
  bool previous_;
};

}  // namespace braid::vgpu
