// Which algorithm, protocol and channels a group's collectives get: cost table, tuner, choice.
#pragma once

#include <vector>

#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/operation.hpp"

namespace braid::vgpu::nccl {

/// Puts the group's collectives into the order they run in and decides how each one travels. Those
/// of one function, datatype and operator whose sizes are within a factor of four of the largest
/// form an aggregate, which the cost model and the tuner see as one call of all their bytes.
/// `time_us` becomes the modelled time of all of them. A tuner's error is the result; when nothing
/// is allowed, ncclInvalidUsage if NCCL_ALGO or NCCL_PROTO is set, else ncclInternalError.
ncclResult_t select(Communicator& communicator, std::vector<CollectiveOperation>* collectives,
                    double* time_us);

}  // namespace braid::vgpu::nccl
