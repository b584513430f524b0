// Random policies for property tests.
#pragma once

#include <random>
#include <string>

#include "config/policy.hpp"
#include "config/policy_names.hpp"
#include "config_test_support.hpp"

namespace braid::test {

inline config::Interval random_interval(std::mt19937_64& random) {
  config::Interval interval;
  do {
    interval.low = random() >> pick(random, 0, 63);
    interval.high = pick(random, 0, 2) == 0 ? std::numeric_limits<uint64_t>::max()
                                            : random() >> pick(random, 0, 63);
    interval.low_open = pick(random, 0, 1) != 0;
    interval.high_open = pick(random, 0, 1) != 0;
  } while (!config::inclusive_bounds(interval));
  return interval;
}

/// Valid UTF-8 with everything that needs care in TOML.
inline std::string random_text(std::mt19937_64& random) {
  static const char* const kPieces[] = {"a",      "\"", "\\", "\n", "\t",   "\x01",
                                        "\x7f",   "'",  "#",  "é",  "環",   "😀",
                                        "\"\"\"", "]",  "=",  " ",  "\r\n", "\\u0041"};
  std::string text;
  for (uint64_t i = pick(random, 1, 8); i > 0; --i) {
    text += kPieces[pick(random, 0, std::size(kPieces) - 1)];
  }
  return text;
}

template <typename T, size_t N>
T random_value(std::mt19937_64& random, const config::Named<T> (&table)[N]) {
  return table[pick(random, 0, N - 1)].value;
}

inline config::Rule random_rule(std::mt19937_64& random) {
  const auto coin = [&] { return pick(random, 0, 1) != 0; };
  config::Rule rule;
  if (coin()) {
    rule.collective = random_value(random, config::kCollectiveNames);
  }
  for (const auto& name : config::kDtypeNames) {
    if (pick(random, 0, 5) == 0) {
      rule.dtypes.emplace_back(name.name);
    }
  }
  if (coin()) {
    rule.bytes = random_interval(random);
  }
  if (coin()) {
    rule.ranks = random_interval(random);
  }
  if (coin()) {
    rule.communicator = random_text(random);
  }
  rule.strategy = random_value(random, config::kStrategyNames);
  rule.scheme = random_value(random, config::kSchemeNames);
  if (rule.strategy != config::Strategy::kSerial) {
    rule.cut = random_value(random, config::kCutNames);
    rule.parts = static_cast<int>(pick(random, 0, 64));
  }
  return rule;
}

inline config::TunerRule random_tuner_rule(std::mt19937_64& random) {
  const auto coin = [&] { return pick(random, 0, 1) != 0; };
  config::TunerRule rule;
  if (coin()) {
    constexpr config::Collective kAsked[] = {
        config::Collective::kAllReduce, config::Collective::kAllGather,
        config::Collective::kReduceScatter, config::Collective::kBroadcast,
        config::Collective::kReduce};
    rule.collective = kAsked[pick(random, 0, std::size(kAsked) - 1)];
  }
  if (coin()) {
    rule.bytes = random_interval(random);
  }
  if (coin()) {
    rule.ranks = config::Interval{pick(random, 1, 8), pick(random, 8, 64), false, false};
  }
  if (coin()) {
    rule.nodes = config::Interval{1, pick(random, 1, 4), false, false};
  }
  rule.algorithm = random_value(random, config::kAlgorithmNames);
  if (rule.collective && rule.collective != config::Collective::kAllReduce &&
      rule.algorithm == config::Algorithm::kTree) {
    rule.algorithm = config::Algorithm::kRing;
  }
  rule.protocol = random_value(random, config::kProtocolNames);
  rule.channels = coin() ? 0 : static_cast<int>(pick(random, 1, 64));
  return rule;
}

inline config::PlannedCollective random_planned(std::mt19937_64& random) {
  config::PlannedCollective planned;
  planned.collective = random_value(random, config::kCollectiveNames);
  planned.dtype = random_value(random, config::kDtypeNames);
  planned.op = random_value(random, config::kOperationNames);
  planned.ranks = pick(random, 1, 64);
  planned.boundaries = {0};
  for (uint64_t i = pick(random, 1, 64); i > 0; --i) {
    planned.boundaries.push_back(planned.boundaries.back() + pick(random, 1, 1ull << 40));
  }
  planned.count = planned.boundaries.back();
  return planned;
}

inline config::Policy random_policy(std::mt19937_64& random) {
  config::Policy policy;
  policy.numerics = random_value(random, config::kNumericsNames);
  policy.max_device_memory = pick(random, 0, 1ull << 40);
  policy.learn_steps = static_cast<int>(pick(random, 0, 1000000));
  if (pick(random, 0, 1) != 0) {
    policy.gpu = random_text(random);
    policy.topology = random_text(random);
  }
  for (uint64_t i = pick(random, 0, 6); i > 0; --i) {
    policy.rules.push_back(random_rule(random));
  }
  for (uint64_t i = pick(random, 0, 6); i > 0; --i) {
    policy.tuner_rules.push_back(random_tuner_rule(random));
  }
  for (uint64_t i = pick(random, 0, 2); i > 0; --i) {
    policy.plan.push_back(random_planned(random));
  }
  return policy;
}

}  // namespace braid::test
