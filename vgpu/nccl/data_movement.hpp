// What a collective does to the ranks' memory once all of them have posted it.
#pragma once

#include <vector>

#include "model/stock_nccl.hpp"
#include "vgpu/nccl/shared_communicator.hpp"

namespace braid::vgpu::nccl {

/// Carries out a collective for all ranks at once: `posted` holds every rank's call, in rank order.
/// All buffers have been checked. Sums are formed run by run in the order of the plan's rings and
/// chains (channel_schedule.hpp). In-place calls are safe.
void move_data(const model::StockPlan& plan, const std::vector<PostedCollective>& posted);

}  // namespace braid::vgpu::nccl
