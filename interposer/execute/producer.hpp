// The producer rewriting: an AllReduce made in parts, each as soon as its part of the GEMM is done.
#pragma once

#include "interposer/communicator.hpp"
#include "interposer/execute/collective_call.hpp"

namespace braid::interposer {

/// Makes the agreed sub-collectives for `call`: early, on the communicator's side stream, where it
/// can be proven that nothing is overtaken but the rest of the GEMM; else one after the other on
/// the caller's stream. Which calls are made depends on `plan` alone (design, rule 2).
ncclResult_t execute_in_parts(CommunicatorState& state, const CollectiveCall& call,
                              const PlanEntry& plan, bool may_start_early = true);

/// Rule 3: may parts of `call` run while later parts of `gemm` still run? The parts' writes must
/// not touch what the GEMM reads or writes, but for the tracked output itself, in place; and what
/// they read must be exactly that output. Pure; checked on every call.
bool may_overtake(const SplitGemm& gemm, const CollectiveCall& call, Refusal* why);

}  // namespace braid::interposer
