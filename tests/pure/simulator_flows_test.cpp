#include <gtest/gtest.h>

#include <random>

#include "model/simulator/flows.hpp"
#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using test::items;
using test::length;
using trace::CollectiveFunction;

TEST(FlowNetwork, AloneTakesItsMostLoadedLink) {
  FlowNetwork network({10, 20}, 1.0);  // GB/s: 10 and 20 thousand bytes a µs
  network.start(0, 1, {{0, 1e6}, {1, 4e6}}, 0);
  EXPECT_DOUBLE_EQ(network.next_end_us(), 200);
  EXPECT_TRUE(network.take_finished(199).empty());
  EXPECT_EQ(network.take_finished(200), std::vector<uint64_t>{1});
  EXPECT_TRUE(network.empty());
}

TEST(FlowNetwork, TwoOnOneLinkTakeTwiceAsLong) {
  FlowNetwork network({10}, 1.0);
  network.start(0, 1, {{0, 1e6}}, 0);
  network.start(0, 2, {{0, 1e6}}, 0);
  EXPECT_NEAR(network.next_end_us(), 200, 1e-6);
  EXPECT_EQ(network.take_finished(200).size(), 2u);
}

TEST(FlowNetwork, LateComerShares) {
  FlowNetwork network({10}, 1.0);
  network.start(0, 1, {{0, 1e6}}, 0);   // alone until 50: half done
  network.start(50, 2, {{0, 1e6}}, 0);  // both at half rate until 150
  EXPECT_NEAR(network.next_end_us(), 150, 1e-6);
  EXPECT_EQ(network.take_finished(150.0001), std::vector<uint64_t>{1});
  EXPECT_NEAR(network.next_end_us(), 200, 1e-3);
}

TEST(FlowNetwork, UnusedCapacityGoesToTheRest) {
  // 1 and 2 share link 0; 3 shares link 1 with 2 only and may take what 2 cannot use.
  FlowNetwork network({10, 10}, 1.0);
  network.start(0, 1, {{0, 1e6}}, 0);
  network.start(0, 2, {{0, 1e6}, {1, 1e6}}, 0);
  network.start(0, 3, {{1, 0.5e6}}, 0);
  EXPECT_NEAR(network.next_end_us(), 100, 1e-3);  // 3 runs at half of link 1
}

TEST(FlowNetwork, BandwidthFactorScales) {
  FlowNetwork network({10}, 2.0);
  network.start(0, 1, {{0, 1e6}}, 0);
  EXPECT_DOUBLE_EQ(network.next_end_us(), 50);
}

TEST(FlowNetwork, NeverOverfillsALinkAndAlwaysEnds) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const int links = 1 + static_cast<int>(random() % 6);
    std::vector<double> capacity(static_cast<size_t>(links));
    for (double& c : capacity) {
      c = 1 + static_cast<double>(random() % 50);
    }
    FlowNetwork network(capacity, 1.0);
    std::vector<double> bytes_on(static_cast<size_t>(links), 0.0);
    const int flows = 1 + static_cast<int>(random() % 8);
    for (int f = 0; f < flows; ++f) {
      std::vector<LinkLoad> loads;
      for (int l = 0; l < links; ++l) {
        if (random() % 2 == 0) {
          const double bytes = 1 + static_cast<double>(random() % 1000000);
          loads.push_back({l, bytes});
          bytes_on[static_cast<size_t>(l)] += bytes;
        }
      }
      network.start(0, static_cast<uint64_t>(f), loads, 0);
    }
    int ended = 0;
    double now = 0;
    for (int guard = 0; !network.empty() && guard < 1000; ++guard) {
      now = network.next_end_us();
      ended += static_cast<int>(network.take_finished(now * (1 + 1e-12) + 1e-9).size());
    }
    ASSERT_EQ(ended, flows);
    for (int l = 0; l < links; ++l) {  // no link carried more than its capacity allows
      const auto i = static_cast<size_t>(l);
      ASSERT_GE(now * (1 + 1e-6) + 1e-3, bytes_on[i] / (capacity[i] * 1e3));
    }
  }
}

/// Ranks {0,1,2,3}; two communicators over all of them, one AllReduce each, on streams of their
/// own.
trace::Trace two_communicators(bool both) {
  return test::make_trace(4, [both](trace::TraceBuilder& b, int rank) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    const uint32_t c1 = b.communicator(1, rank, 4), c2 = b.communicator(2, rank, 4);
    b.collective(s1, c1, CollectiveFunction::kAllReduce, 64 << 20);
    if (both) {
      b.collective(s2, c2, CollectiveFunction::kAllReduce, 64 << 20);
    }
  });
}

TEST(SimulatorFlows, TwoCollectivesOnTheSameLinksShareThem) {
  const Topology box = test::make_box(4);
  const double alone = length(items(test::run(two_communicators(false), box), 0, "collective")[0]);
  const auto together = items(test::run(two_communicators(true), box), 0, "collective");
  ASSERT_EQ(together.size(), 2u);
  EXPECT_NEAR(length(together[0]) / alone, 2.0, 0.02);
  EXPECT_NEAR(length(together[1]) / alone, 2.0, 0.02);
}

TEST(SimulatorFlows, OneCommunicatorSerialisesItsCalls) {
  const Topology box = test::make_box(4);
  const auto trace = test::make_trace(4, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    const uint32_t c = b.communicator(1, rank, 4);
    b.collective(s1, c, CollectiveFunction::kAllReduce, 64 << 20);
    b.collective(s2, c, CollectiveFunction::kAllReduce, 64 << 20);
  });
  const auto both = items(test::run(trace, box), 0, "collective");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_GE(both[1].start_us, both[0].end_us - 1e-6);
}

TEST(SimulatorFlows, DisjointPairsDoNotDisturbEachOther) {
  const Topology box = test::make_box(4);
  const auto pair_trace = [](bool both) {
    return test::make_trace(4, [both](trace::TraceBuilder& b, int rank) {
      const uint32_t s = b.stream();
      const uint32_t c = b.communicator(static_cast<uint64_t>(1 + rank / 2), rank % 2, 2);
      if (both || rank < 2) {
        b.collective(s, c, CollectiveFunction::kAllReduce, 64 << 20);
      }
    });
  };
  const double alone = test::run(pair_trace(false), box).total_us;
  EXPECT_NEAR(test::run(pair_trace(true), box).total_us / alone, 1.0, 0.001);
}

}  // namespace
}  // namespace braid::model
