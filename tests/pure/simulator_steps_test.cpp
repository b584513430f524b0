#include <gtest/gtest.h>

#include <random>

#include "model/simulator/steps.hpp"
#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using trace::CollectiveFunction;

TEST(FindPeriod, PlainRepetition) {
  const auto period = find_period({1, 2, 3, 1, 2, 3, 1, 2, 3});
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->first, 0u);
  EXPECT_EQ(period->length, 3u);
  EXPECT_EQ(period->count, 3u);
}

TEST(FindPeriod, WarmUpAndClosingCallAreLeftOut) {
  const auto period = find_period({9, 8, 1, 1, 2, 1, 1, 2, 1, 1, 2, 7});
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->first, 2u);
  EXPECT_EQ(period->length, 3u);
  EXPECT_EQ(period->count, 3u);
}

TEST(FindPeriod, ShortRepeatsInsideAStepDoNotCount) {
  const auto period = find_period({1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 2, 3});
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->length, 6u);
}

TEST(FindPeriod, NoneInWhatDoesNotRepeat) {
  EXPECT_FALSE(find_period({}).has_value());
  EXPECT_FALSE(find_period({1}).has_value());
  EXPECT_FALSE(find_period({1, 2, 3, 4, 5}).has_value());
}

TEST(FindPeriod, FindsAPlantedPeriod) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<uint64_t> step(1 + random() % 12);
    for (size_t i = 0; i < step.size(); ++i) {
      step[i] = 100 + i;  // all different: no shorter period
    }
    const size_t warm = random() % 5, times = 2 + random() % 5 + (warm > step.size() ? 6 : 0);
    std::vector<uint64_t> sequence;
    for (size_t i = 0; i < warm; ++i) {
      sequence.push_back(i);
    }
    for (size_t i = 0; i < times * step.size(); ++i) {
      sequence.push_back(step[i % step.size()]);
    }
    const auto period = find_period(sequence);
    ASSERT_TRUE(period.has_value());
    ASSERT_EQ(period->length, step.size());
    ASSERT_EQ(period->count, times);
    ASSERT_EQ(period->first, warm);
  }
}

/// `steps` steps of two GEMMs and two AllReduces of one size; the second GEMM differs.
trace::Trace training(int steps, uint16_t first_flags = 0) {
  return test::make_trace(2, [=](trace::TraceBuilder& b, int rank) {
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(1, rank, 2);
    for (int i = 0; i < steps; ++i) {
      b.marker("step", 0);
      b.with_flags(first_flags).gemm(s, 4096, 1024, 1024);
      b.collective(s, c, CollectiveFunction::kAllReduce, 1 << 20).with_flags(0);
      b.gemm(s, 1024, 4096, 1024);
      b.collective(s, c, CollectiveFunction::kAllReduce, 1 << 20);
      b.marker("step", 1);
    }
  });
}

TEST(SimulatorSteps, PeriodIsOneStepOfTheProgram) {
  const SimulationResult result =
      test::run(training(6), test::make_box(2), test::plain_gpu(), SimulationOptions{});
  ASSERT_EQ(result.step_us.size(), 6u);
  for (size_t i = 1; i < 6; ++i) {
    EXPECT_NEAR(result.step_us[i], result.step_us[1], 0.01);
  }
  EXPECT_NEAR(result.median_step_us * 6, result.total_us, 0.05 * result.total_us);
  EXPECT_GT(result.exposed_communication_us, 0);
  EXPECT_LT(result.exposed_communication_us, result.median_step_us);
}

TEST(SimulatorSteps, RangesAndCountsAgreeWithThePeriod) {
  SimulationOptions by_range, by_count;
  by_range.step_range = "step";
  by_count.step_collective = "allreduce";
  by_count.step_every = 2;
  const Topology box = test::make_box(2);
  const double period =
      test::run(training(5), box, test::plain_gpu(), SimulationOptions{}).median_step_us;
  EXPECT_NEAR(test::run(training(5), box, test::plain_gpu(), by_range).median_step_us, period,
              0.01);
  EXPECT_NEAR(test::run(training(5), box, test::plain_gpu(), by_count).median_step_us, period,
              0.01);
}

TEST(SimulatorSteps, MarksFollowOneAnother) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t s = b.stream();
    for (int i = 0; i < 4; ++i) {
      b.marker("mark", 2).gemm(s, 4096, 4096, 4096);
    }
  });
  SimulationOptions options;
  options.step_range = "mark";
  EXPECT_EQ(test::run(trace, test::make_box(1), test::plain_gpu(), options).step_us.size(), 3u);
}

TEST(SimulatorSteps, NoPeriodSuggestsTheOptions) {
  const auto trace = test::make_trace(2, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(1, rank, 2);
    b.collective(s, c, CollectiveFunction::kAllReduce, 1000);
    b.collective(s, c, CollectiveFunction::kAllReduce, 2000);
    b.collective(s, c, CollectiveFunction::kAllGather, 3000);
  });
  const auto result = simulate(trace, test::make_box(2), test::plain_gpu(), SimulationOptions{});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().text().find("--step-range"), std::string::npos);
  EXPECT_NE(result.error().text().find("--step-every"), std::string::npos);
}

TEST(SimulatorSteps, WrongStepOptionsAreErrors) {
  SimulationOptions options;
  options.step_collective = "allredcue";
  options.step_every = 2;
  const Topology box = test::make_box(2);
  EXPECT_NE(simulate(training(3), box, test::plain_gpu(), options).error().text().find("allredcue"),
            std::string::npos);
  options = {};
  options.step_range = "absent";
  EXPECT_NE(simulate(training(3), box, test::plain_gpu(), options).error().text().find("absent"),
            std::string::npos);
}

TEST(SimulatorSteps, MedianOfEvenAndOdd) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace braid::model
