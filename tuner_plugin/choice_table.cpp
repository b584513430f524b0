#include "tuner_plugin/choice_table.hpp"

#include <algorithm>
#include <limits>

namespace braid::tuner {
namespace {

constexpr std::array kCollectives = {
    config::Collective::kBroadcast, config::Collective::kReduce, config::Collective::kAllGather,
    config::Collective::kReduceScatter, config::Collective::kAllReduce};
static_assert(kCollectives[abi::kBroadcast] == config::Collective::kBroadcast);
static_assert(kCollectives[abi::kAllReduce] == config::Collective::kAllReduce);

struct BoundRule {
  config::Bounds bytes;
  Choice choice;
};

// The policy's enumerations have the cost table's numbers.
static_assert(static_cast<int>(config::Algorithm::kTree) == abi::kAlgorithmTree);
static_assert(static_cast<int>(config::Algorithm::kRing) == abi::kAlgorithmRing);
static_assert(static_cast<int>(config::Protocol::kLl) == abi::kProtocolLl);
static_assert(static_cast<int>(config::Protocol::kLl128) == abi::kProtocolLl128);
static_assert(static_cast<int>(config::Protocol::kSimple) == abi::kProtocolSimple);

Choice choice_of(const config::TunerRule& rule) {
  return Choice{static_cast<int32_t>(rule.algorithm), static_cast<int32_t>(rule.protocol),
                rule.channels};
}

const Choice* first_match(const std::vector<BoundRule>& rules, uint64_t bytes) {
  for (const BoundRule& rule : rules) {
    if (rule.bytes.first <= bytes && bytes <= rule.bytes.last) {
      return &rule.choice;
    }
  }
  return nullptr;
}

}  // namespace

ChoiceTable::ChoiceTable(const std::vector<config::TunerRule>& rules, uint64_t ranks,
                         uint64_t nodes) {
  for (int function = 0; function < kFunctions; ++function) {
    std::vector<BoundRule> bound;
    std::vector<uint64_t> firsts = {0};
    for (const config::TunerRule& rule : rules) {
      const auto bytes = config::inclusive_bounds(rule.bytes);
      if ((rule.collective && *rule.collective != kCollectives[function]) || !bytes ||
          !rule.ranks.contains(ranks) || !rule.nodes.contains(nodes)) {
        continue;
      }
      bound.push_back({*bytes, choice_of(rule)});
      firsts.push_back(bytes->first);
      if (bytes->last != std::numeric_limits<uint64_t>::max()) {
        firsts.push_back(bytes->last + 1);
      }
    }
    std::sort(firsts.begin(), firsts.end());
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    std::vector<Range>& ranges = ranges_[function];
    for (const uint64_t first : firsts) {
      const Choice* match = first_match(bound, first);
      const Choice choice = match != nullptr ? *match : Choice{};
      if (ranges.empty() || ranges.back().choice != choice) {
        ranges.push_back({first, choice});
      }
    }
  }
}

const Choice* ChoiceTable::find(abi::Function function, uint64_t bytes) const {
  if (function < 0 || function >= kFunctions || ranges_[function].empty()) {
    return nullptr;
  }
  const std::vector<Range>& ranges = ranges_[function];
  // The first range starts at 0, so there is always one before.
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), bytes,
                       [](uint64_t value, const Range& range) { return value < range.first; });
  const Choice& choice = std::prev(after)->choice;
  return choice.asks_nothing() ? nullptr : &choice;
}

bool ChoiceTable::is_empty() const {
  for (const std::vector<Range>& ranges : ranges_) {
    for (const Range& range : ranges) {
      if (!range.choice.asks_nothing()) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace braid::tuner
