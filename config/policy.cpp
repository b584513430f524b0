#include "config/policy.hpp"

#include <algorithm>

#include "config/policy_names.hpp"

namespace braid::config {

const char* name_of(Collective c) { return name_in(kCollectiveNames, c); }

std::optional<Collective> collective_from(const std::string& name) {
  return value_in(kCollectiveNames, name);
}

const Rule* find_rule(const Policy& policy, Collective collective, const std::string& dtype,
                      uint64_t bytes, uint64_t ranks, const std::string& communicator) {
  for (const Rule& rule : policy.rules) {
    if (rule.collective && *rule.collective != collective) {
      continue;
    }
    if (!rule.dtypes.empty() &&
        std::find(rule.dtypes.begin(), rule.dtypes.end(), dtype) == rule.dtypes.end()) {
      continue;
    }
    if (!rule.communicator.empty() && rule.communicator != communicator) {
      continue;
    }
    if (rule.bytes.contains(bytes) && rule.ranks.contains(ranks)) {
      return &rule;
    }
  }
  return nullptr;
}

const TunerRule* find_tuner_rule(const Policy& policy, Collective collective, uint64_t bytes,
                                 uint64_t ranks, uint64_t nodes) {
  for (const TunerRule& rule : policy.tuner_rules) {
    if ((!rule.collective || *rule.collective == collective) && rule.bytes.contains(bytes) &&
        rule.ranks.contains(ranks) && rule.nodes.contains(nodes)) {
      return &rule;
    }
  }
  return nullptr;
}

}  // namespace braid::config
