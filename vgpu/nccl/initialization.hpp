// Starting communicators: by id, from a parent by split or shrink.
#pragma once

#include <nccl.h>

#include <vector>

#include "vgpu/nccl/communicator.hpp"

namespace braid::vgpu::nccl {

/// The id's own bytes: a token and the maker's address. What lies behind is nobody's and is
/// ignored.
void make_unique_id(ncclUniqueId* id);

/// Starts `rank` of `ranks` on `device`. The communicator's handle is written to `*handle` at once
/// when it is nonblocking or inside a group, otherwise after success.
ncclResult_t initialize_rank(const char* function, ncclComm_t* handle, int ranks,
                             const ncclUniqueId& id, int rank, int device,
                             const ncclConfig_t* config);

/// ncclCommSplit.
ncclResult_t split(ncclComm_t parent, int color, int key, ncclComm_t* handle,
                   const ncclConfig_t* config);

/// ncclCommShrink.
ncclResult_t shrink(ncclComm_t parent, const int* excluded, int excluded_count, ncclComm_t* handle,
                    const ncclConfig_t* config, int flags);

/// What all of these come to: takes the seat, waits for the others, finds rings and trees, starts
/// tuner and profiler. Blocks. On failure the seat is given back and the others are told.
ncclResult_t start_communicator(Communicator& communicator);

}  // namespace braid::vgpu::nccl
