#include <gtest/gtest.h>

#include <random>

#include "policies/decompose.hpp"
#include "simulator_test_support.hpp"

namespace braid::policies {
namespace {

using model::trace::ElementType;

class Decompose : public testing::Test {
 protected:
  Decompose()
      : box_(model::test::make_box(4)),
        gpu_(model::find_gpu_model("A6000").value()),
        plan_(model::plan_stock(box_, {0, 1, 2, 3}, {}).value()),
        network_(box_) {}

  DecomposeInputs inputs(uint64_t m, uint64_t n, uint64_t k) const {
    DecomposeInputs in;
    in.gemm = {m, n, k, 1, ElementType::kBf16, ElementType::kBf16};
    in.bytes = m * n * 2;
    in.ranks = 4;
    in.gpu = &gpu_;
    in.plan = &plan_;
    in.network = &network_;
    in.gpus = {0, 1, 2, 3};
    return in;
  }
  static config::Rule rule(int parts, config::Strategy strategy = config::Strategy::kDecompose) {
    config::Rule rule;
    rule.strategy = strategy;
    rule.parts = parts;
    return rule;
  }

  model::Topology box_;
  model::GpuModel gpu_;
  model::StockPlan plan_;
  model::CommunicationModel network_;
};

TEST_F(Decompose, ARulesNumberIsObeyed) {
  const Decision decision = decide_parts(rule(6), inputs(4096, 8192, 2048));
  EXPECT_EQ(decision.parts, 6);
  EXPECT_EQ(decision.reason, DecomposeReason::kDecomposed);
  EXPECT_GT(decision.serial_us, 0);
}

TEST_F(Decompose, ARulesNumberNeedsNoModel) {
  DecomposeInputs in = inputs(4096, 8192, 2048);
  in.gpu = nullptr;
  in.plan = nullptr;
  EXPECT_EQ(decide_parts(rule(4), in).parts, 4);
  const Decision automatic = decide_parts(rule(0), in);
  EXPECT_EQ(automatic.parts, 1);
  EXPECT_EQ(automatic.reason, DecomposeReason::kNoModel);
}

TEST_F(Decompose, MoreWantedPartsThanRowsStaysSerial) {
  const Decision decision = decide_parts(rule(8), inputs(4, 8192, 2048));
  EXPECT_EQ(decision.parts, 1);
  EXPECT_EQ(decision.reason, DecomposeReason::kTooSmall);
}

TEST_F(Decompose, OtherStrategiesStaySerial) {
  for (const auto strategy : {config::Strategy::kSerial, config::Strategy::kFused}) {
    EXPECT_EQ(decide_parts(rule(4, strategy), inputs(4096, 8192, 2048)).parts, 1);
  }
}

TEST_F(Decompose, OneHardwareQueueStaysSerial) {
  DecomposeInputs in = inputs(16384, 8192, 2048);
  in.hardware_queues = 1;
  EXPECT_EQ(decide_parts(rule(0), in).reason, DecomposeReason::kOneHardwareQueue);
  EXPECT_EQ(decide_parts(rule(4), in).parts, 1);
}

TEST_F(Decompose, BalancedLargePairIsCut) {
  const Decision decision = decide_parts(rule(0), inputs(16384, 8192, 8192));
  EXPECT_GT(decision.parts, 1);
  EXPECT_EQ(decision.reason, DecomposeReason::kDecomposed);
  EXPECT_LT(decision.decomposed_us, decision.serial_us * 0.98);
}

TEST_F(Decompose, SmallPairsAreNot) {
  const Decision decision = decide_parts(rule(0), inputs(64, 512, 512));
  EXPECT_EQ(decision.parts, 1);
  EXPECT_EQ(decision.reason, DecomposeReason::kTooSmall);
}

TEST_F(Decompose, DearLaunchesForbidIt) {
  DecomposeInputs in = inputs(1024, 1024, 1024);
  model::GpuModel slow_host = gpu_;
  slow_host.collective_launch_us = 1000;
  in.gpu = &slow_host;
  const Decision decision = decide_parts(rule(0), in);
  EXPECT_EQ(decision.parts, 1);
  EXPECT_EQ(decision.reason, DecomposeReason::kNoGain);
}

TEST_F(Decompose, AutomaticCutsKeepTheirPromises) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    DecomposeInputs in =
        inputs(64 * (1 + random() % 512), 64 * (1 + random() % 256), 64 * (1 + random() % 256));
    in.collective = static_cast<config::Collective>(random() % 3);
    if (random() % 2 == 0) {
      in.network = nullptr;
    }
    const Decision decision = decide_parts(rule(0), in);
    ASSERT_GE(decision.parts, 1);
    ASSERT_LE(decision.parts, kMostParts);
    if (decision.parts > 1) {
      const auto parts = static_cast<uint64_t>(decision.parts);
      ASSERT_EQ(in.gemm.m % parts, 0u);
      ASSERT_GE(in.bytes / parts, kLeastPartBytes);
      ASSERT_GE(in.gemm.m / parts, kLeastPartRows);
      ASSERT_LE(decision.decomposed_us, decision.serial_us * (1 - kLeastGain));
      ASSERT_DOUBLE_EQ(decision.decomposed_us, predict_parts(in, decision.parts));
    }
    const Decision again = decide_parts(rule(0), in);
    ASSERT_EQ(again.parts, decision.parts);  // a pure function
  }
}

TEST_F(Decompose, CollectivesWithoutACostRowStaySerial) {
  DecomposeInputs in = inputs(16384, 8192, 8192);
  in.collective = config::Collective::kAllToAll;
  EXPECT_EQ(decide_parts(rule(0), in).reason, DecomposeReason::kNoModel);
}

TEST(DecomposeReasonNames, AreDistinct) {
  EXPECT_STREQ(name_of(DecomposeReason::kOneHardwareQueue), "one_hardware_queue");
  EXPECT_STREQ(name_of(DecomposeReason::kNoGain), "no_gain");
}

}  // namespace
}  // namespace braid::policies
