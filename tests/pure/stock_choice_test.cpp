#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "model/stock_nccl.hpp"
#include "topology_test_support.hpp"

namespace braid::model::test {
namespace {

using config::Collective;

StockPlan plan_box(const BoxSpec& spec, const NcclSettings& settings = {}) {
  const auto box = make_box(spec);
  const auto plan = plan_stock(box, box.by_dev(), settings);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : StockPlan{};
}

BoxSpec hopper_pairs() {
  return {.gpus = 4, .gpus_per_switch = 4, .sm = 90, .speed = "32.0 GT/s PCIe", .nvlink_count = 12};
}

// What real NCCL handed a tuner on two bridged pairs (virtual_gpu_notes).
TEST(CostTable, IsTheOneNcclHandsToTuners) {
  const auto plan = plan_box(hopper_pairs());
  const auto table = cost_table(plan, Collective::kAllReduce, 256 << 10);
  EXPECT_NEAR(table[kTree][kLl], 46.64, 0.01);
  EXPECT_NEAR(table[kTree][kSimple], 39.52, 0.01);
  EXPECT_NEAR(table[kRing][kLl], 20.79, 0.01);
  EXPECT_NEAR(table[kRing][kSimple], 46.70, 0.01);
  EXPECT_LT(table[kTree][kLl128], 0);
  EXPECT_LT(table[kRing][kLl128], 0);
  for (int a = 2; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      EXPECT_EQ(table[a][p], -1.0f);
    }
  }
  const auto choice = choose(plan, table, Collective::kAllReduce, 256 << 10);
  EXPECT_EQ(choice.algorithm, kRing);
  EXPECT_EQ(choice.protocol, kLl);
  EXPECT_NEAR(choice.time_us, 20.79, 0.01);
}

// nccl_facts J.1: what a complete NCCL chose for AllReduce of 4 MiB.
TEST(Choice, MatchesCompleteRunsOfNccl) {
  struct Case {
    int gpus, sockets, per_switch;
    const char* cpu;
    int algorithm;
  };
  const Case cases[] = {{4, 1, 4, kSapphireRapids, kRing},
                        {4, 1, 0, kSapphireRapids, kTree},
                        {4, 1, 2, kSapphireRapids, kTree},
                        {4, 2, 0, kSapphireRapids, kRing},
                        {4, 2, 0, kAmd, kRing},
                        {8, 2, 0, kSapphireRapids, kTree},
                        {8, 2, 0, kAmd, kRing}};
  for (const auto& c : cases) {
    auto spec = hopper_pairs();
    spec.gpus = c.gpus;
    spec.sockets = c.sockets;
    spec.gpus_per_switch = c.per_switch;
    spec.cpu = c.cpu;
    const auto plan = plan_box(spec);
    const auto choice = choose(plan, cost_table(plan, Collective::kAllReduce, 4 << 20),
                               Collective::kAllReduce, 4 << 20);
    EXPECT_EQ(choice.algorithm, c.algorithm) << c.gpus << " " << c.sockets << " " << c.per_switch;
    EXPECT_EQ(choice.protocol, kSimple);
  }
}

TEST(Choice, ATunersRulesLeaveTheEntryTheyName) {
  auto plan = plan_box(hopper_pairs());
  const uint64_t bytes = 256 << 10;
  const auto stock = cost_table(plan, Collective::kAllReduce, bytes);
  config::TunerRule rule;
  rule.collective = Collective::kAllReduce;
  rule.algorithm = config::Algorithm::kTree;
  plan.tuner_rules = {rule};
  const auto choice =
      choose(plan, cost_table(plan, Collective::kAllReduce, bytes), Collective::kAllReduce, bytes);
  EXPECT_EQ(choice.algorithm, kTree);
  EXPECT_EQ(choice.protocol, kSimple) << "the cheaper of the two that Tree has here";
  EXPECT_FLOAT_EQ(static_cast<float>(choice.time_us), stock[kTree][kSimple]);
  // An entry NCCL has ruled out is never taken, and a rule for other sizes changes nothing.
  plan.tuner_rules[0].protocol = config::Protocol::kLl128;
  EXPECT_EQ(cost_table(plan, Collective::kAllReduce, bytes), stock);
  plan.tuner_rules[0].protocol = config::Protocol::kLl;
  plan.tuner_rules[0].bytes.low = bytes + 1;
  EXPECT_EQ(cost_table(plan, Collective::kAllReduce, bytes), stock);
}

TEST(Choice, OnlyRingForOtherCollectives) {
  const auto plan = plan_box({});
  for (const auto collective : {Collective::kAllGather, Collective::kReduceScatter,
                                Collective::kBroadcast, Collective::kReduce}) {
    const auto table = cost_table(plan, collective, 1 << 20);
    EXPECT_EQ(table[kTree][kSimple], -1.0f);
    EXPECT_EQ(choose(plan, table, collective, 1 << 20).algorithm, kRing);
  }
}

TEST(Choice, NcclChoosesNothingForPointToPoint) {
  const auto plan = plan_box({});
  const auto table = cost_table(plan, Collective::kAllToAll, 1 << 20);
  const auto choice = choose(plan, table, Collective::kAllToAll, 1 << 20);
  EXPECT_EQ(choice.algorithm, -1);
  EXPECT_EQ(choice.protocol, -1);
  EXPECT_EQ(choice.channels, 0);
}

TEST(Choice, TiesGoToTheFirstEntryAndZeroWins) {
  const auto plan = plan_box({});
  auto table = cost_table(plan, Collective::kAllReduce, 1 << 20);
  table[kTree][kLl128] = 0;
  table[kRing][kSimple] = 0;
  const auto choice = choose(plan, table, Collective::kAllReduce, 1 << 20);
  EXPECT_EQ(choice.algorithm, kTree);
  EXPECT_EQ(choice.protocol, kLl128);
}

// nccl_facts J.3: few channels for small sizes, all for large ones.
TEST(Choice, ChannelsGrowWithTheSize) {
  const auto plan = plan_box(hopper_pairs());
  const int all = static_cast<int>(plan.ring_channels.size());
  ASSERT_EQ(all, 8);
  const auto channels = [&](uint64_t bytes, Collective collective = Collective::kAllReduce) {
    return choose(plan, cost_table(plan, collective, bytes), collective, bytes).channels;
  };
  EXPECT_EQ(channels(8), 1);
  EXPECT_EQ(channels(16 << 10), 1);
  EXPECT_EQ(channels(256 << 10), all);
  EXPECT_EQ(channels(64 << 20), all);
  int before = 0;
  for (uint64_t bytes = 1; bytes < 1 << 18; bytes *= 2) {
    EXPECT_GE(channels(bytes), before) << bytes;
    before = channels(bytes);
  }
  EXPECT_EQ(channels(64 << 20, Collective::kAllGather), all);
}

TEST(Choice, ATunersChannelsOnlyLower) {
  const auto plan = plan_box(hopper_pairs());
  const uint64_t bytes = 64 << 20;
  const auto table = cost_table(plan, Collective::kAllReduce, bytes);
  EXPECT_EQ(choose(plan, table, Collective::kAllReduce, bytes, 3).channels, 3);
  EXPECT_EQ(choose(plan, table, Collective::kAllReduce, bytes, 1).channels, 1);
  EXPECT_EQ(choose(plan, table, Collective::kAllReduce, bytes, 64).channels, 8);
}

TEST(CostTable, GroupsPayTreeLatencyOncePerTenCalls) {
  const auto plan = plan_box({});
  const auto row = static_cast<size_t>(Collective::kAllReduce);
  const auto one = cost_table(plan, Collective::kAllReduce, 1 << 20, 1);
  const auto ten = cost_table(plan, Collective::kAllReduce, 1 << 20, 10);
  EXPECT_NEAR(ten[kRing][kSimple] - one[kRing][kSimple], 9 * plan.latency_us[row][kRing][kSimple],
              0.01);
  EXPECT_NEAR(ten[kTree][kSimple], one[kTree][kSimple], 0.01);
  const auto eleven = cost_table(plan, Collective::kAllReduce, 1 << 20, 11);
  EXPECT_NEAR(eleven[kTree][kSimple] - one[kTree][kSimple], plan.latency_us[row][kTree][kSimple],
              0.01);
}

TEST(CostTable, OneRankCostsNothing) {
  const auto plan = plan_box({.gpus = 1, .nvlinks = NvLinks::kNone});
  const auto table = cost_table(plan, Collective::kAllReduce, 1 << 20);
  EXPECT_EQ(table[kRing][kSimple], 0);
  EXPECT_EQ(table[kTree][kSimple], -1.0f);
  const auto choice = choose(plan, table, Collective::kAllReduce, 1 << 20);
  EXPECT_EQ(choice.algorithm, kRing);
  EXPECT_EQ(choice.protocol, kSimple);
}

TEST(CostTable, SettingsTurnEntriesOff) {
  NcclSettings tree_only;
  tree_only.algo = "allreduce:tree";
  tree_only.proto = "^LL128";
  const auto plan = plan_box({}, tree_only);
  const auto table = cost_table(plan, Collective::kAllReduce, 1 << 20);
  EXPECT_EQ(table[kRing][kSimple], -1.0f);
  EXPECT_GT(table[kTree][kSimple], 0);
  EXPECT_GT(cost_table(plan, Collective::kAllGather, 1 << 20)[kRing][kSimple], 0);

  NcclSettings forced;
  forced.proto = "LL128";
  const auto forced_table = cost_table(plan_box({}, forced), Collective::kAllReduce, 1 << 20);
  EXPECT_GT(forced_table[kRing][kLl128], 0) << "asked for, NCCL uses LL128 over PCIe as well";
  EXPECT_EQ(forced_table[kRing][kLl], -1.0f);
}

TEST(CostTable, RandomPlansAreSane) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  SCOPED_TRACE("BRAID_TEST_SEED=" + std::to_string(seed));
  for (int i = 0; i < 60; ++i) {
    const auto plan = plan_box(draw_box(random));
    const uint64_t bytes = 1 + random() % (1ull << 30);
    for (const auto collective : {Collective::kAllReduce, Collective::kAllGather,
                                  Collective::kReduceScatter, Collective::kBroadcast}) {
      const auto choice = choose(plan, cost_table(plan, collective, bytes), collective, bytes);
      ASSERT_GE(choice.algorithm, 0);
      ASSERT_GE(choice.channels, 1);
      ASSERT_LE(choice.channels, static_cast<int>(plan.ring_channels.size()));
      const auto twice = cost_table(plan, collective, 2 * bytes);
      ASSERT_GE(twice[kRing][kSimple], cost_table(plan, collective, bytes)[kRing][kSimple]);
    }
  }
}

}  // namespace
}  // namespace braid::model::test
