#include "policies/decompose.hpp"

#include <algorithm>
#include <optional>

namespace braid::policies {
namespace {

using model::trace::CollectiveFunction;
using model::trace::ElementType;

constexpr double kTie = 0.02;

struct TransferCost {
  double us = 0;
  int channels = 1;
};

std::optional<CollectiveFunction> function_of(config::Collective collective) {
  switch (collective) {
    case config::Collective::kAllReduce:
      return CollectiveFunction::kAllReduce;
    case config::Collective::kAllGather:
      return CollectiveFunction::kAllGather;
    case config::Collective::kReduceScatter:
      return CollectiveFunction::kReduceScatter;
    case config::Collective::kBroadcast:
      return CollectiveFunction::kBroadcast;
    case config::Collective::kReduce:
      return CollectiveFunction::kReduce;
    default:
      return std::nullopt;  // not a collective with a row in NCCL's cost table
  }
}

bool has_model(const DecomposeInputs& inputs) {
  return inputs.gpu != nullptr && inputs.plan != nullptr && inputs.ranks > 1 &&
         function_of(inputs.collective).has_value();
}

/// One collective of `bytes` with nothing beside it.
TransferCost transfer(const DecomposeInputs& inputs, uint64_t bytes) {
  const double start = inputs.gpu->kernel_start_us;
  if (inputs.network != nullptr && inputs.gpus.size() == static_cast<size_t>(inputs.ranks)) {
    model::CollectiveCall call;
    call.function = *function_of(inputs.collective);
    call.type = ElementType::kUint8;
    const uint64_t one = model::call_bytes({call.function, 1, call.type, 0}, inputs.ranks);
    call.count = std::max<uint64_t>(1, bytes / one);
    const model::CommunicationCost cost = inputs.network->price(*inputs.plan, inputs.gpus, call);
    return {start + inputs.network->alone_us(cost), cost.channels};
  }
  const model::Choice choice =
      model::choose(*inputs.plan, model::cost_table(*inputs.plan, inputs.collective, bytes),
                    inputs.collective, bytes);
  return {start + choice.time_us, choice.channels};
}

double gemm_us(const DecomposeInputs& inputs, uint64_t rows, int sms) {
  model::GemmShape part = inputs.gemm;
  part.m = rows;
  const model::GemmCost cost = model::gemm_cost(*inputs.gpu, part);
  return cost.compute.time_us(cost.compute.useful_sms(sms));
}

bool is_cut_allowed(const DecomposeInputs& inputs, int parts) {
  const auto n = static_cast<uint64_t>(parts);
  return inputs.gemm.m % n == 0 && inputs.gemm.m / n >= kLeastPartRows &&
         inputs.bytes / n >= kLeastPartBytes;
}

}  // namespace

const char* name_of(DecomposeReason reason) {
  switch (reason) {
    case DecomposeReason::kDecomposed:
      return "decomposed";
    case DecomposeReason::kNotAsked:
      return "not_asked";
    case DecomposeReason::kOneHardwareQueue:
      return "one_hardware_queue";
    case DecomposeReason::kNoModel:
      return "no_model";
    case DecomposeReason::kTooSmall:
      return "too_small";
    case DecomposeReason::kNoGain:
      return "no_gain";
  }
  return "unknown";
}

double predict_parts(const DecomposeInputs& inputs, int parts) {
  const auto n = static_cast<uint64_t>(std::max(1, parts));
  const TransferCost move = transfer(inputs, std::max<uint64_t>(1, inputs.bytes / n));
  const int all = inputs.gpu->sm_count;
  const double first = gemm_us(inputs, std::max<uint64_t>(1, inputs.gemm.m / n), all);
  if (n == 1) {
    return first + move.us;
  }
  const double beside =
      gemm_us(inputs, std::max<uint64_t>(1, inputs.gemm.m / n), std::max(1, all - move.channels));
  // Between two parts: the slowest of the next GEMM, the sub-collective, and the host's call for
  // it.
  const double pace = std::max({beside, move.us, inputs.gpu->collective_launch_us});
  return first + static_cast<double>(n - 1) * pace + move.us;
}

Decision decide_parts(const config::Rule& rule, const DecomposeInputs& inputs) {
  Decision decision;
  if (rule.strategy != config::Strategy::kDecompose) {
    return decision;
  }
  if (inputs.hardware_queues == 1) {
    decision.reason = DecomposeReason::kOneHardwareQueue;
    return decision;
  }
  if (rule.parts > 0) {
    const auto wanted = static_cast<uint64_t>(std::min(rule.parts, kMostParts));
    const bool possible = wanted > 1 && inputs.gemm.m >= wanted && inputs.bytes >= wanted;
    decision.parts = possible ? static_cast<int>(wanted) : 1;
    decision.reason = possible      ? DecomposeReason::kDecomposed
                      : wanted == 1 ? DecomposeReason::kNotAsked
                                    : DecomposeReason::kTooSmall;
    if (has_model(inputs)) {
      decision.serial_us = predict_parts(inputs, 1);
      decision.decomposed_us = predict_parts(inputs, decision.parts);
    }
    return decision;
  }
  if (!has_model(inputs)) {
    decision.reason = DecomposeReason::kNoModel;
    return decision;
  }

  decision.serial_us = decision.decomposed_us = predict_parts(inputs, 1);
  std::vector<std::pair<int, double>> candidates;
  double least = decision.serial_us;
  for (int parts = 2; parts <= kMostParts; ++parts) {
    if (is_cut_allowed(inputs, parts)) {
      candidates.emplace_back(parts, predict_parts(inputs, parts));
      least = std::min(least, candidates.back().second);
    }
  }
  if (candidates.empty()) {
    decision.reason = DecomposeReason::kTooSmall;
    return decision;
  }
  if (least > decision.serial_us * (1 - kLeastGain)) {
    decision.reason = DecomposeReason::kNoGain;
    return decision;
  }
  for (const auto& [parts, us] : candidates) {
    if (us <= least * (1 + kTie) && us <= decision.serial_us * (1 - kLeastGain)) {
      decision.parts = parts;
      decision.decomposed_us = us;
      decision.reason = DecomposeReason::kDecomposed;
      break;
    }
  }
  return decision;
}

}  // namespace braid::policies
