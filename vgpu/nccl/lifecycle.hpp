// Ending communicators.
#pragma once

#include <nccl.h>

#include "vgpu/nccl/communicator.hpp"

namespace braid::vgpu::nccl {

/// ncclCommFinalize: everything issued completes; afterwards only ncclCommDestroy is allowed.
ncclResult_t finalize(ncclComm_t handle);

/// ncclCommDestroy: finalizes if that was not done, and frees.
ncclResult_t destroy(ncclComm_t handle);

/// ncclCommAbort: pending operations end at once (their results are undefined), the communicator is
/// freed. Any thread; also while another one waits in a call on it.
ncclResult_t abort(ncclComm_t handle);

/// ncclCommRevoke: pending operations end; afterwards the communicator may be destroyed, split or
/// shrunk.
ncclResult_t revoke(ncclComm_t handle, int flags);

/// Ends this rank's pending operations without ending the communicator. After it returns no rank
/// touches this rank's buffers any more.
void stop_operations(Communicator& communicator);

}  // namespace braid::vgpu::nccl
