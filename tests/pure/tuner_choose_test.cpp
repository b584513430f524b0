#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tuner_test_support.hpp"

namespace braid::tuner {
namespace {

using test::Pick;
using test::Table;

// The table a 4-GPU bridged box gives for AllReduce of 256 KiB.
constexpr Table kBridgedPairs = {{{46.64f, -1, 39.52f},
                                  {20.79f, -1, 46.70f},
                                  {-1, -1, -1},
                                  {-1, -1, -1},
                                  {-1, -1, -1},
                                  {-1, -1, -1},
                                  {-1, -1, -1}}};

struct Answer {
  Pick pick;
  int channels = 0;
  Table table{};
};

class TunerChoose : public testing::Test {
 protected:
  TunerChoose() { test::logged().clear(); }

  Answer ask(const std::string& rules, abi::Function function = abi::kAllReduce,
             Table table = kBridgedPairs, size_t bytes = 1 << 18) {
    tuner_ = std::make_unique<Tuner>(test::settings_of(rules), 4, 1, test::keep_log);
    int channels = 0;
    tuner_->choose(function, bytes, table.begin(), abi::kAlgorithmCount, abi::kProtocolCount,
                   &channels);
    return {test::pick_cheapest(table), channels, table};
  }

  // Lines about stepping aside.
  static int aside_count() {
    int count = 0;
    for (const auto& [level, line] : test::logged()) {
      count += line.find("steps aside") != std::string::npos;
    }
    return count;
  }

  std::unique_ptr<Tuner> tuner_;
};

TEST_F(TunerChoose, StockPickWithoutARule) {
  const Answer answer = ask("");
  EXPECT_EQ(answer.pick, (Pick{abi::kAlgorithmRing, abi::kProtocolLl}));
  EXPECT_EQ(answer.table, kBridgedPairs);
}

TEST_F(TunerChoose, APairBecomesTheCheapest) {
  const Answer answer =
      ask("[[tuner.rule]]\nalgorithm = \"tree\"\nprotocol = \"simple\"\nchannels = 2\n");
  EXPECT_EQ(answer.pick, (Pick{abi::kAlgorithmTree, abi::kProtocolSimple}));
  EXPECT_EQ(answer.channels, 2);
  EXPECT_EQ(aside_count(), 0);
}

TEST_F(TunerChoose, WhatTheRuleLeavesOpenNCCLsCostsDecide) {
  EXPECT_EQ(ask("[[tuner.rule]]\nalgorithm = \"tree\"\n").pick,
            (Pick{abi::kAlgorithmTree, abi::kProtocolSimple}));
  EXPECT_EQ(ask("[[tuner.rule]]\nprotocol = \"simple\"\n").pick,
            (Pick{abi::kAlgorithmTree, abi::kProtocolSimple}));
  EXPECT_EQ(ask("[[tuner.rule]]\nalgorithm = \"ring\"\n").pick,
            (Pick{abi::kAlgorithmRing, abi::kProtocolLl}));
}

TEST_F(TunerChoose, IgnoredEntriesAreNeverPicked) {
  const Answer answer =
      ask("[[tuner.rule]]\nalgorithm = \"ring\"\nprotocol = \"ll128\"\nchannels = 2\n");
  EXPECT_EQ(answer.table, kBridgedPairs);
  EXPECT_EQ(answer.channels, 0);
  EXPECT_EQ(aside_count(), 1);
}

TEST_F(TunerChoose, AStockChoiceOfTheUserStands) {
  Table only_ring = kBridgedPairs;  // as NCCL_ALGO=Ring leaves it
  only_ring.cost[abi::kAlgorithmTree][abi::kProtocolLl] = abi::kCostIgnored;
  only_ring.cost[abi::kAlgorithmTree][abi::kProtocolSimple] = abi::kCostIgnored;
  const Answer answer = ask("[[tuner.rule]]\nalgorithm = \"tree\"\n", abi::kAllReduce, only_ring);
  EXPECT_EQ(answer.table, only_ring);
  EXPECT_EQ(aside_count(), 1);
}

TEST_F(TunerChoose, NoKernelNoPickEvenIfTheTableSaysOtherwise) {
  const Answer answer = ask("[[tuner.rule]]\nalgorithm = \"tree\"\n", abi::kAllGather);
  EXPECT_EQ(answer.table, kBridgedPairs);
  EXPECT_EQ(aside_count(), 1);
}

TEST_F(TunerChoose, RivalsThatCostNothingDoNotWinByTheirPlace) {
  Table free = kBridgedPairs;
  free.cost[abi::kAlgorithmTree][abi::kProtocolLl] = 0.0f;
  free.cost[abi::kAlgorithmTree][abi::kProtocolSimple] = -0.0f;
  const Answer answer =
      ask("[[tuner.rule]]\nalgorithm = \"ring\"\nprotocol = \"simple\"\n", abi::kAllReduce, free);
  EXPECT_EQ(answer.pick, (Pick{abi::kAlgorithmRing, abi::kProtocolSimple}));
}

TEST_F(TunerChoose, NonsenseCostsAreNotPicked) {
  Table odd = kBridgedPairs;
  odd.cost[abi::kAlgorithmTree][abi::kProtocolSimple] = std::nanf("");
  odd.cost[abi::kAlgorithmTree][abi::kProtocolLl] = std::numeric_limits<float>::infinity();
  ask("[[tuner.rule]]\nalgorithm = \"tree\"\n", abi::kAllReduce, odd);
  EXPECT_EQ(aside_count(), 1);
}

TEST_F(TunerChoose, ChannelsAloneFollowOnlyTreesAndRings) {
  const std::string rule = "[[tuner.rule]]\nchannels = 3\n";
  const Answer ring = ask(rule);
  EXPECT_EQ(ring.channels, 3);
  EXPECT_EQ(ring.table, kBridgedPairs);
  Table nvls = kBridgedPairs;  // NCCL would use any number for NVLS unchecked
  nvls.cost[abi::kAlgorithmNvls][abi::kProtocolSimple] = 1.0f;
  const Answer other = ask(rule, abi::kAllReduce, nvls);
  EXPECT_EQ(other.channels, 0);
  EXPECT_EQ(other.table, nvls);
}

TEST_F(TunerChoose, SmallerTablesAreRespected) {
  tuner_ = std::make_unique<Tuner>(
      test::settings_of("[[tuner.rule]]\nalgorithm = \"ring\"\nprotocol = \"simple\"\n"), 4, 1,
      test::keep_log);
  float table[8] = {5, 6, 7, 8, -7, -7, -7, -7};
  int channels = 0;
  tuner_->choose(abi::kAllReduce, 1024, table, 2, 2, &channels);  // no Simple column
  tuner_->choose(abi::kAllReduce, 1024, table, 1, 3, &channels);  // no Ring row
  tuner_->choose(abi::kAllReduce, 1024, table, 0, 3, &channels);
  tuner_->choose(abi::kAllReduce, 1024, table, 7, -1, &channels);
  tuner_->choose(abi::kAllReduce, 1024, nullptr, 7, 3, &channels);
  tuner_->choose(abi::kAllReduce, 1024, table, 2, 3, nullptr);  // Ring/Simple is entry 5: ignored
  const float expected[8] = {5, 6, 7, 8, -7, -7, -7, -7};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(table[i], expected[i]) << i;
  }
}

TEST_F(TunerChoose, SteppingAsideIsSaidOncePerCommunicator) {
  ask("[[tuner.rule]]\nprotocol = \"ll128\"\n");
  for (int i = 0; i < 100; ++i) {
    Table table = kBridgedPairs;
    int channels = 0;
    tuner_->choose(abi::kAllReduce, 1024, table.begin(), 7, 3, &channels);
  }
  EXPECT_EQ(aside_count(), 1);
}

struct OldAnswer {
  int algorithm = -1;
  int protocol = -1;
  int channels = 0;
};

OldAnswer ask_without_table(const Settings& settings, abi::Function function = abi::kAllReduce) {
  OldAnswer answer;
  Tuner(settings, 4, 1, test::keep_log)
      .choose_without_table(function, 1 << 18, &answer.algorithm, &answer.protocol,
                            &answer.channels);
  return answer;
}

TEST_F(TunerChoose, VersionTwoNamesAPairOrNothing) {
  const OldAnswer both = ask_without_table(test::settings_of(
      "[[tuner.rule]]\nalgorithm = \"ring\"\nprotocol = \"simple\"\nchannels = 4\n"));
  EXPECT_EQ(both.algorithm, abi::kAlgorithmRing);
  EXPECT_EQ(both.protocol, abi::kProtocolSimple);
  EXPECT_EQ(both.channels, 4);
  EXPECT_EQ(aside_count(), 0);
  for (const char* rule : {"algorithm = \"ring\"\n", "protocol = \"ll\"\n", "channels = 2\n",
                           "algorithm = \"ring\"\nprotocol = \"ll128\"\n"}) {
    test::logged().clear();
    const OldAnswer none =
        ask_without_table(test::settings_of(std::string("[[tuner.rule]]\n") + rule));
    EXPECT_EQ(none.algorithm, -1) << rule;
    EXPECT_EQ(none.protocol, -1) << rule;
    EXPECT_EQ(none.channels, 0) << rule;
    EXPECT_EQ(aside_count(), 1) << rule;
  }
}

TEST_F(TunerChoose, VersionTwoKnowsWhatExistsAndWhatTheUserChose) {
  Settings settings =
      test::settings_of("[[tuner.rule]]\nalgorithm = \"tree\"\nprotocol = \"simple\"\n");
  EXPECT_EQ(ask_without_table(settings).algorithm, abi::kAlgorithmTree);
  EXPECT_EQ(ask_without_table(settings, abi::kAllGather).algorithm, -1);
  settings.stock_choice_is_set = true;
  EXPECT_EQ(ask_without_table(settings).algorithm, -1);
}

}  // namespace
}  // namespace braid::tuner
