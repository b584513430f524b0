// Collectives called inside ncclGroupStart/End.
#pragma once

#include <memory>

#include "interposer/communicator.hpp"
#include "interposer/execute/collective_call.hpp"

namespace braid::interposer {

/// Keeps a planned collective until the outermost ncclGroupEnd, where it is made in its parts after
/// the rest of the group: which calls are made must not depend on group membership (design, rule
/// 2), and sub-calls in one NCCL group would be aggregated.
void defer_to_group_end(std::shared_ptr<CommunicatorState> state, const CollectiveCall& call,
                        std::shared_ptr<const PlanEntry> plan);

/// Work on this stream will be launched by the outermost ncclGroupEnd.
void note_grouped_work(CUstream stream);

}  // namespace braid::interposer
