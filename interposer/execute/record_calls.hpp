// What goes into the trace for the calls of the program and for those braid makes in their place.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "interposer/communicator.hpp"
#include "interposer/execute/collective_call.hpp"

namespace braid::interposer {

/// The program's call. `replaced`: braid issues other calls in its place.
void record_collective(const CommunicatorState* state, const CollectiveCall& call, bool replaced);

/// One sub-collective braid issues.
void record_part(const CommunicatorState& state, const CollectiveCall& call, const PlanEntry& plan,
                 uint32_t part, CUstream stream);

/// How a call was carried out.
void record_rewrite(const CommunicatorState& state, const PlanEntry& plan, bool overlapped);

/// Event calls braid makes.
void record_event_record(CUstream stream, CUevent event);
void record_wait(CUstream stream, CUevent event);

/// The same, and the call itself: every wait and join of ours is made here, so that all of them
/// reach the ledger and the trace. False when the driver refuses.
bool enqueue_event_record(CUstream stream, CUevent event);
bool enqueue_wait(CUstream stream, CUevent event);

/// Calls rewritten so far in this process, for the summary.
struct RewriteCounts {
  uint64_t split = 0;       // made in parts
  uint64_t overlapped = 0;  // of these, parts that started early
};
RewriteCounts rewrite_counts();

}  // namespace braid::interposer
