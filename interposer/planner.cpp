#include "interposer/planner.hpp"

#include <nccl.h>

#include <algorithm>
#include <optional>
#include <string>

#include "interposer/automatic_parts.hpp"
#include "interposer/execute/collective_call.hpp"

namespace braid::interposer {
namespace {

constexpr const char* kOpNames[] = {"sum", "prod", "max", "min", "avg"};

bool is_integer(uint32_t type) {
  switch (static_cast<ncclDataType_t>(type)) {
    case ncclInt8:
    case ncclUint8:
    case ncclInt32:
    case ncclUint32:
    case ncclInt64:
    case ncclUint64:
      return true;
    default:
      return false;
  }
}

// The policy's name for a collective; none for those it does not name.
std::optional<config::Collective> collective_of(const Signature& signature) {
  using Function = model::trace::CollectiveFunction;
  switch (static_cast<Function>(signature.function)) {
    case Function::kAllReduce:
      return config::Collective::kAllReduce;
    case Function::kAllGather:
      return config::Collective::kAllGather;
    case Function::kReduceScatter:
      return config::Collective::kReduceScatter;
    case Function::kBroadcast:
      return config::Collective::kBroadcast;
    case Function::kReduce:
      return config::Collective::kReduce;
    case Function::kAllToAll:
      return config::Collective::kAllToAll;
    default:
      return std::nullopt;
  }
}

}  // namespace

const char* dtype_name(uint32_t nccl_type) {
  switch (static_cast<ncclDataType_t>(nccl_type)) {
    case ncclInt8:
      return "int8";
    case ncclUint8:
      return "uint8";
    case ncclInt32:
      return "int32";
    case ncclUint32:
      return "uint32";
    case ncclInt64:
      return "int64";
    case ncclUint64:
      return "uint64";
    case ncclFloat16:
      return "fp16";
    case ncclFloat32:
      return "fp32";
    case ncclFloat64:
      return "fp64";
    case ncclBfloat16:
      return "bf16";
    case ncclFloat8e4m3:
      return "fp8e4m3";
    case ncclFloat8e5m2:
      return "fp8e5m2";
    default:
      return "";
  }
}

bool is_cut_exact(const Signature& signature, int n_ranks) {
  // A sum of two terms has one order; minimum, maximum and integer arithmetic do not depend on it.
  // Two-rank averages are left out: the division may be made at either end.
  const bool order_free = signature.op == ncclMin || signature.op == ncclMax ||
                          (is_integer(signature.type) && signature.op != ncclAvg);
  return order_free || (n_ranks == 2 && (signature.op == ncclSum || signature.op == ncclProd));
}

std::variant<PlanEntry, Refusal> plan_collective(const config::Policy& policy,
                                                 const CommunicatorState& state,
                                                 const Signature& signature,
                                                 const GemmShape* shape) {
  if (signature.op == kUserOp) {
    return Refusal::kUserReduction;
  }
  // nccl-tests' size: the whole tensor, which AllGather and ReduceScatter name by one rank's share.
  using Function = model::trace::CollectiveFunction;
  const auto function = static_cast<Function>(signature.function);
  const bool by_share = function == Function::kAllGather || function == Function::kReduceScatter;
  const uint64_t bytes = signature.count * bytes_of(static_cast<ncclDataType_t>(signature.type)) *
                         (by_share ? static_cast<uint64_t>(state.n_ranks) : 1);
  const std::optional<config::Collective> collective = collective_of(signature);
  const config::Rule* rule =
      collective && bytes > 0 && state.n_ranks > 1
          ? config::find_rule(policy, *collective, dtype_name(signature.type), bytes,
                              static_cast<uint64_t>(state.n_ranks), state.name)
          : nullptr;
  const bool asks_for_stock =
      rule != nullptr && rule->strategy == config::Strategy::kSerial && rule->scheme == "stock";
  if (rule == nullptr || asks_for_stock) {
    return Refusal::kNoRule;
  }
  if (*collective != config::Collective::kAllReduce ||
      rule->strategy != config::Strategy::kDecompose || rule->scheme != "stock") {
    return Refusal::kNotCarriedOut;
  }
  if (policy.numerics == config::Numerics::kExact && !is_cut_exact(signature, state.n_ranks)) {
    return Refusal::kNumerics;
  }
  if (shape == nullptr || shape->m * shape->n != signature.count) {
    return Refusal::kNoPair;
  }
  PlanEntry entry;
  entry.signature = signature;
  if (rule->parts > 0) {
    entry.boundaries = equal_boundaries(shape->m, shape->n, static_cast<uint32_t>(rule->parts));
  } else {
    const auto chosen = choose_boundaries(policy, *rule, state.bus_ids, bytes, *shape);
    if (std::holds_alternative<Refusal>(chosen)) {
      return std::get<Refusal>(chosen);
    }
    entry.boundaries = std::get<std::vector<uint64_t>>(chosen);
  }
  return entry.boundaries.size() > 2 ? std::variant<PlanEntry, Refusal>(entry) : Refusal::kNoGain;
}

std::vector<PlanEntry> plan_range(const config::Policy& policy, CommunicatorState& state) {
  std::vector<PlanEntry> entries;
  for (const CommunicatorState::Observation& observation : state.observations()) {
    auto planned = plan_collective(policy, state, observation.signature, &observation.shape);
    if (std::holds_alternative<PlanEntry>(planned)) {
      entries.push_back(std::move(std::get<PlanEntry>(planned)));
    }
  }
  return entries;
}

std::vector<PlanEntry> frozen_plan(const config::Policy& policy, const CommunicatorState& state) {
  std::vector<PlanEntry> entries;
  for (const config::PlannedCollective& planned : policy.plan) {
    const auto op = std::find(std::begin(kOpNames), std::end(kOpNames), planned.op);
    if (planned.ranks != static_cast<uint64_t>(state.n_ranks) ||
        planned.collective != config::Collective::kAllReduce || op == std::end(kOpNames)) {
      continue;
    }
    for (uint32_t type = 0; type < static_cast<uint32_t>(ncclNumTypes); ++type) {
      if (planned.dtype != dtype_name(type)) {
        continue;
      }
      PlanEntry entry;
      entry.signature.type = type;
      entry.signature.op = static_cast<uint32_t>(op - std::begin(kOpNames));
      entry.signature.count = planned.count;
      entry.boundaries = planned.boundaries;
      const bool allowed = policy.numerics != config::Numerics::kExact ||
                           is_cut_exact(entry.signature, state.n_ranks);
      if (allowed) {
        entries.push_back(std::move(entry));
      }
    }
  }
  return entries;
}

config::PlannedCollective describe_for_policy(const PlanEntry& entry, int n_ranks) {
  config::PlannedCollective planned;
  planned.dtype = dtype_name(entry.signature.type);
  planned.op = entry.signature.op < std::size(kOpNames) ? kOpNames[entry.signature.op] : "sum";
  planned.ranks = static_cast<uint64_t>(n_ranks);
  planned.count = entry.signature.count;
  planned.boundaries = entry.boundaries;
  return planned;
}

}  // namespace braid::interposer
