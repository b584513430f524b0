// Decides, from the policy and what has been observed, which collectives are made in parts.
#pragma once

#include <variant>
#include <vector>

#include "config/policy.hpp"
#include "interposer/communicator.hpp"
#include "interposer/plan_table.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {

/// A plan for one signature, or why it is made as it stands. `shape`: the GEMM that feeds it,
/// nullptr when none is known. Depends on agreed facts and on the shape alone.
std::variant<PlanEntry, Refusal> plan_collective(const config::Policy& policy,
                                                 const CommunicatorState& state,
                                                 const Signature& signature,
                                                 const GemmShape* shape);

/// All entries for a range: one for each pair this rank has observed and the policy wants split.
std::vector<PlanEntry> plan_range(const config::Policy& policy, CommunicatorState& state);

/// The entries a frozen policy holds for communicators like this one.
std::vector<PlanEntry> frozen_plan(const config::Policy& policy, const CommunicatorState& state);

/// An entry as a policy file keeps it.
config::PlannedCollective describe_for_policy(const PlanEntry& entry, int n_ranks);

/// Whether an AllReduce of this kind may be cut under the numerics class: bits do not depend on
/// where it is cut for min and max, for integers, and for two ranks (design, rule 9).
bool is_cut_exact(const Signature& signature, int n_ranks);

/// "fp32", "bf16", … as policies write it; "" for a type we do not know.
const char* dtype_name(uint32_t nccl_type);

}  // namespace braid::interposer
