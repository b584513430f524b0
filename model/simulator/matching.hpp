// Checks that the ranks of each communicator made the same calls.
#pragma once

#include "config/result.hpp"
#include "model/simulator/workload.hpp"
#include "model/trace.hpp"

namespace braid::model {

/// Compares the k-th collective of every rank of every communicator, for all k: function, element
/// type, count and root must agree (design rule: they decide what NCCL does). Where a rank made
/// fewer calls and some trace is cut, all programs are shortened to what has partners, with a
/// warning.
Status match_collectives(const trace::Trace& trace, Workload& workload);

}  // namespace braid::model
