// Collectives called inside ncclGroupStart/End.
#pragma once

#include <functional>
#include <memory>

#include "interposer/communicator.hpp"
#include "interposer/execute/collective_call.hpp"

namespace braid::interposer {

/// The real call as the program made it.
using RealCall = std::function<ncclResult_t()>;

/// Keeps a collective until the outermost ncclGroupEnd, where it is made after the rest of the
/// group: in its parts, or whole when `plan` is nullptr. Which calls are made, and in which order
/// on a communicator, must not depend on group membership (design, rule 2), and sub-calls in one
/// NCCL group would be aggregated.
void defer_to_group_end(std::shared_ptr<CommunicatorState> state, const CollectiveCall& call,
                        std::shared_ptr<const PlanEntry> plan, RealCall whole);

/// True when an earlier collective of this communicator was deferred in the open group: then this
/// one must be as well, or it would overtake it.
bool is_deferring(const CommunicatorState& state);

/// A collective was counted in the open group; should the group only be simulated, it is uncounted.
void note_grouped_count(const std::shared_ptr<CommunicatorState>& state);

/// Work on this stream will be launched by the outermost ncclGroupEnd.
void note_grouped_work(CUstream stream);

}  // namespace braid::interposer
