// The final plan of a run, for a later run that learns nothing (BRAID_PLAN_OUT, BRAID_FROZEN).
#pragma once

#include "interposer/communicator.hpp"

namespace braid::interposer {

/// Keeps what a communicator that ends had decided. Only rank 0 of a communicator speaks for it.
void keep_final_plan(CommunicatorState& state);

/// Writes the policy with all that was kept, and of communicators still alive, to BRAID_PLAN_OUT.
/// Called once, when the process ends.
void write_final_plan();

}  // namespace braid::interposer
