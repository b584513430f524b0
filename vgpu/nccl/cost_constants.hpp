// The constants of NCCL's cost model, which a tuner plugin may change while a communicator starts.
#pragma once

#include "model/stock_nccl.hpp"
#include "tuner_plugin/abi/tuner.hpp"

namespace braid::vgpu::nccl {

/// NCCL 2.28's values (graph/tuning.cc), as a tuner's init receives them.
abi::TunerConstants default_constants();

/// Makes the plan's cost model what it would have been with these constants. Entries that are
/// disabled stay so. `compute_capability`: the smallest of the communicator's GPUs (86).
void apply_constants(const abi::TunerConstants& constants, int compute_capability,
                     model::StockPlan* plan);

}  // namespace braid::vgpu::nccl
