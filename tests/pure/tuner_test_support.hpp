// What NCCL does around a tuner: its log, its cost table and its pick.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "config_test_support.hpp"
#include "tuner_plugin/tuner.hpp"

namespace braid::test {

/// Lines that came through the logger, with their level. Cleared by the tests.
inline std::vector<std::pair<abi::LogLevel, std::string>>& logged() {
  static std::vector<std::pair<abi::LogLevel, std::string>> lines;
  return lines;
}

inline void keep_log(abi::LogLevel level, unsigned long, const char*, int, const char* format, ...)
    __attribute__((format(printf, 5, 6)));
inline void keep_log(abi::LogLevel level, unsigned long, const char*, int, const char* format,
                     ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  logged().emplace_back(level, text);
}

struct Table {
  float cost[abi::kAlgorithmCount][abi::kProtocolCount];

  float* begin() { return &cost[0][0]; }
  bool operator==(const Table&) const = default;
};

/// A table as NCCL would hand over for this collective: usable where a kernel exists, except for
/// some entries that are ignored.
inline Table random_table(std::mt19937_64& random, abi::Function function) {
  Table table;
  for (int a = 0; a < abi::kAlgorithmCount; ++a) {
    for (int p = 0; p < abi::kProtocolCount; ++p) {
      const bool exists =
          a <= abi::kAlgorithmRing ? tuner::has_kernel(function, a, p) : p == abi::kProtocolSimple;
      const bool ignored = !exists || pick(random, 0, 3) == 0;
      table.cost[a][p] = ignored ? abi::kCostIgnored
                         : pick(random, 0, 15) == 0
                             ? 0.0f
                             : static_cast<float>(pick(random, 1, 100000)) / 16;
    }
  }
  return table;
}

struct Pick {
  int algorithm = -1;
  int protocol = -1;
  bool operator==(const Pick&) const = default;
};

/// NCCL's rule: the strictly smallest cost that is not negative, row by row.
inline Pick pick_cheapest(const Table& table) {
  Pick pick;
  float best = 0;
  for (int a = 0; a < abi::kAlgorithmCount; ++a) {
    for (int p = 0; p < abi::kProtocolCount; ++p) {
      if (table.cost[a][p] >= 0 && (pick.algorithm < 0 || table.cost[a][p] < best)) {
        pick = {a, p};
        best = table.cost[a][p];
      }
    }
  }
  return pick;
}

inline tuner::Settings settings_of(const std::string& rules) {
  tuner::Settings settings;
  auto policy = config::read_policy_text("schema = \"braid-policy/1\"\n" + rules, "p.toml");
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().text());
  if (policy) {
    settings.policy = *std::move(policy);
  }
  return settings;
}

}  // namespace braid::test
