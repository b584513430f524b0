// The tuner rules of a policy, worked out once for one communicator: bytes → choice.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "config/policy.hpp"
#include "tuner_plugin/abi/tuner.hpp"

namespace braid::tuner {

/// What a rule asks for. Numbers as in the cost table; -1: NCCL decides.
struct Choice {
  int32_t algorithm = abi::kAlgorithmUndefined;
  int32_t protocol = abi::kProtocolUndefined;
  int32_t channels = 0;  // 0: NCCL decides

  bool asks_nothing() const {
    return algorithm == abi::kAlgorithmUndefined && protocol == abi::kProtocolUndefined &&
           channels == 0;
  }
  bool operator==(const Choice&) const = default;
};

/// Whether NCCL is built with a kernel for the pair: Tree for AllReduce only, Ring for the
/// five collectives a tuner is asked about, both with all three protocols.
constexpr bool has_kernel(abi::Function function, int algorithm, int protocol) {
  if (function < abi::kBroadcast || function > abi::kAllReduce || protocol < abi::kProtocolLl ||
      protocol > abi::kProtocolSimple) {
    return false;
  }
  return algorithm == abi::kAlgorithmRing ||
         (algorithm == abi::kAlgorithmTree && function == abi::kAllReduce);
}

/// For each collective the ranges of bytes between which the answer changes. Immutable: may be read
/// from any thread. Depends on nothing but the rules, the number of ranks and of nodes, so it is
/// the same on all ranks.
class ChoiceTable {
 public:
  ChoiceTable() = default;
  ChoiceTable(const std::vector<config::TunerRule>& rules, uint64_t ranks, uint64_t nodes);

  /// The first matching rule's choice, or null where no rule matches or the rule asks nothing.
  const Choice* find(abi::Function function, uint64_t bytes) const;

  /// Whether no collective of any size has a choice.
  bool is_empty() const;

 private:
  struct Range {
    uint64_t first;  // up to the next range's first
    Choice choice;
  };
  static constexpr int kFunctions = 5;  // Broadcast, Reduce, AllGather, ReduceScatter, AllReduce

  std::array<std::vector<Range>, kFunctions> ranges_;
};

}  // namespace braid::tuner
