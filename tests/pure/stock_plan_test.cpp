#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "model/stock_nccl.hpp"
#include "topology_test_support.hpp"

namespace braid::model::test {
namespace {

using Channels = std::vector<std::vector<int>>;

StockPlan plan_box(const BoxSpec& spec, const NcclSettings& settings = {}) {
  const auto box = make_box(spec);
  const auto plan = plan_stock(box, box.by_dev(), settings);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : StockPlan{};
}

bool is_permutation_of_ranks(std::vector<int> channel, int n) {
  std::vector<int> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::sort(channel.begin(), channel.end());
  return channel == ranks;
}

// nccl_facts D.4.
TEST(StockPlan, OppositeRingsOnlyWhereNcclFindsThem) {
  const auto amd = plan_box({});
  EXPECT_EQ(amd.ring.channels, (Channels{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 3, 2, 1}, {0, 3, 2, 1}}));
  EXPECT_EQ(amd.ring.speed_intra_gbps, 12);
  const auto intel = plan_box({.cpu = kIceLake});
  EXPECT_EQ(intel.ring.channels, (Channels{{0, 1, 2, 3}, {0, 3, 2, 1}}));
  EXPECT_EQ(intel.ring.speed_intra_gbps, 20);
  const auto two_sockets = plan_box({.sockets = 2});
  EXPECT_EQ(two_sockets.ring.channels, Channels(4, {0, 1, 2, 3}));
  const auto intel_8 = plan_box({.gpus = 8, .sockets = 2, .cpu = kIceLake});
  EXPECT_EQ(intel_8.ring.channels, Channels(1, {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(intel_8.ring.speed_intra_gbps, 10);
  EXPECT_EQ(intel_8.ring_channels.size(), 2u);
  const auto amd_8 = plan_box({.gpus = 8});
  EXPECT_EQ(amd_8.ring.channels.size() * amd_8.ring.speed_intra_gbps, 48);
}

TEST(StockPlan, ChannelsAreDoubledAsABlockThenCutOrRepeated) {
  const auto plan = plan_box({.cpu = kIceLake});
  EXPECT_EQ(plan.ring_channels, (Channels{{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 1, 2, 3}, {0, 3, 2, 1}}));
  NcclSettings settings;
  settings.max_channels = 3;
  EXPECT_EQ(plan_box({.cpu = kIceLake}, settings).ring_channels,
            (Channels{{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 1, 2, 3}}));
  settings.min_channels = 5;
  EXPECT_EQ(plan_box({.cpu = kIceLake}, settings).ring_channels,
            (Channels{{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 3, 2, 1}}));
  settings.max_channels = 0;
  settings.min_channels = 1000;
  EXPECT_EQ(plan_box({.cpu = kIceLake}, settings).ring_channels.size(), 64u);
}

TEST(StockPlan, RanksFollowTheOrderGiven) {
  const auto box = make_box({.gpus = 4});
  const auto swapped = plan_stock(box, {1, 0, 3, 2}, {});
  ASSERT_TRUE(swapped);
  EXPECT_EQ(swapped->ring.channels[0], (std::vector{1, 0, 3, 2})) << "GPU order 0 1 2 3 in ranks";
  const auto some = plan_stock(box, {3, 2}, {});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->n_ranks, 2);
  EXPECT_EQ(some->ring.type_intra, PathType::kNvl);
}

TEST(StockPlan, P2pLevelChangesThePaths) {
  NcclSettings off;
  off.p2p_level = "LOC";
  EXPECT_EQ(plan_box({.gpus = 2}, off).ring.type_intra, PathType::kPhb);
  EXPECT_EQ(plan_box({.gpus = 2}).ring.type_intra, PathType::kNvl);
}

TEST(StockPlan, RefusesImpossibleCommunicators) {
  const auto box = make_box({.gpus = 2});
  for (const auto& gpus : {std::vector<int>{}, {0, 2}, {-1}, {0, 0}, std::vector<int>(65, 0)}) {
    const auto plan = plan_stock(box, gpus, {});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().where, "box.xml");
  }
  const auto hosts = read_topology_text(
      R"(<system version="1">
<cpu host_hash="0x1" numaid="0"><pci busid="0000:10:00.0"><gpu dev="0" sm="80"/></pci></cpu>
<cpu host_hash="0x2" numaid="0"><pci busid="0000:10:00.0"><gpu dev="0" sm="80"/></pci></cpu>
</system>)",
      "hosts.xml");
  ASSERT_TRUE(hosts);
  EXPECT_TRUE(plan_stock(*hosts, {1}, {}));
  const auto across = plan_stock(*hosts, {0, 1}, {});
  ASSERT_FALSE(across);
  EXPECT_NE(across.error().what.find("several hosts"), std::string::npos);
}

TEST(StockPlan, RandomBoxesGiveCompleteChannels) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  SCOPED_TRACE("BRAID_TEST_SEED=" + std::to_string(seed));
  for (int i = 0; i < 150; ++i) {
    const auto box = make_box(draw_box(random));
    std::vector<int> gpus = box.by_dev();
    std::shuffle(gpus.begin(), gpus.end(), random);
    gpus.resize(1 + random() % gpus.size());
    const auto plan = plan_stock(box, gpus, {});
    ASSERT_TRUE(plan) << plan.error().text();
    const int n = static_cast<int>(gpus.size());
    ASSERT_EQ(plan->n_ranks, n);
    for (const auto* channels :
         {&plan->ring.channels, &plan->tree.channels, &plan->ring_channels, &plan->tree_channels}) {
      ASSERT_FALSE(channels->empty());
      for (const auto& channel : *channels) {
        ASSERT_TRUE(is_permutation_of_ranks(channel, n));
      }
    }
    ASSERT_EQ(plan->ring_channels.size(), plan->tree_channels.size());
    ASSERT_LE(plan->ring_channels.size(), 64u);
    ASSERT_GT(plan->ring.speed_intra_gbps, 0);
    if (n > 1) {
      const auto row = static_cast<size_t>(config::Collective::kAllReduce);
      ASSERT_GT(plan->bandwidth_gbps[row][kRing][kSimple], 0);
      ASSERT_GT(plan->latency_us[row][kTree][kLl], 0);
    }
    const auto again = plan_stock(box, gpus, {});
    ASSERT_EQ(again->ring.channels, plan->ring.channels);
  }
}

}  // namespace
}  // namespace braid::model::test
