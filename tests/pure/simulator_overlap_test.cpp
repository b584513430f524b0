// A GEMM and the collective on its output: serial, in parts, and what defeats the parts.
#include <gtest/gtest.h>

#include "model/closed_form.hpp"
#include "model/simulator.hpp"
#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using test::items;
using test::length;
using trace::CollectiveFunction;

constexpr uint64_t kM = 16384, kN = 8192, kK = 2048;
constexpr int kRanks = 4;

/// The GEMM on one stream in `parts` row blocks, an event after each, and the AllReduce in as many
/// on a stream of highest priority.
trace::Trace pipeline(int parts, int queues = 8) {
  return test::make_trace(kRanks, [=](trace::TraceBuilder& b, int rank) {
    b.setting("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(queues));
    // NCCL's own choice may change with the size, from Tree for the whole to Ring for the parts.
    b.setting("NCCL_ALGO", "Ring").setting("NCCL_PROTO", "Simple");
    const uint32_t compute = b.stream(0), side = b.stream(-5);
    const uint32_t tp = b.communicator(1, rank, kRanks);
    const auto n = static_cast<uint32_t>(parts);
    for (uint32_t j = 0; j < n; ++j) {
      b.gemm(compute, kM / n, kN, kK).record_event(compute, j + 1);
    }
    for (uint32_t j = 0; j < n; ++j) {
      b.wait_event(side, j + 1);
      b.collective(side, tp, CollectiveFunction::kAllReduce, kM * kN / n);
    }
    b.record_event(side, 100).wait_event(compute, 100);
  });
}

TEST(SimulatorOverlap, SerialIsTheSum) {
  const SimulationResult result = test::run(pipeline(1), test::make_box(kRanks));
  const auto gemm = items(result, 0, "gemm"), move = items(result, 0, "collective");
  ASSERT_EQ(gemm.size(), 1u);
  ASSERT_EQ(move.size(), 1u);
  EXPECT_NEAR(move[0].start_us, gemm[0].end_us, 0.01);
  EXPECT_NEAR(result.total_us, length(gemm[0]) + length(move[0]), 0.02);
}

TEST(SimulatorOverlap, IndependentWorkOverlapsWhole) {
  // A copy kernel of few blocks needs none of the collective's SMs: the longer of both decides.
  const auto trace = test::make_trace(kRanks, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    const uint32_t tp = b.communicator(1, rank, kRanks);
    b.kernel(s1, "memory_bound", 10, 1024, 1 << 30);
    b.collective(s2, tp, CollectiveFunction::kAllReduce, 64 << 20);
  });
  const SimulationResult result = test::run(trace, test::make_box(kRanks));
  const double longest =
      std::max(length(items(result, 0, "kernel")[0]), length(items(result, 0, "collective")[0]));
  EXPECT_NEAR(result.total_us, longest, 0.05);
}

TEST(SimulatorOverlap, PartsFollowTheClosedForm) {
  // T(n) = c + m + (n-1)·max(c, m) with c and m as this model prices a part: compute-bound first,
  // transfer-bound next.
  const Topology box = test::make_box(kRanks);
  for (const double bandwidth : {8.0, 0.5}) {
    for (const int parts : {2, 4, 8}) {
      SCOPED_TRACE("bandwidth factor " + std::to_string(bandwidth) + ", parts " +
                   std::to_string(parts));
      SimulationOptions options = test::no_steps();
      options.factors.bandwidth = bandwidth;
      const SimulationResult result = test::run(pipeline(parts), box, test::plain_gpu(), options);
      const auto gemms = items(result, 0, "gemm"), moves = items(result, 0, "collective");
      ASSERT_EQ(gemms.size(), static_cast<size_t>(parts));
      ASSERT_EQ(moves.size(), static_cast<size_t>(parts));
      // The first GEMM runs before any collective; the second loses the channels' SMs.
      const double first = length(gemms.front());
      const double beside = length(gemms[1]);
      const double transfer = length(moves.back());
      const double expected = first + transfer + (parts - 1) * std::max(beside, transfer);
      EXPECT_NEAR(result.total_us / expected, 1.0, 0.01);
    }
  }
}

TEST(SimulatorOverlap, EqualPartsMatchPipelineTime) {
  // Work that takes no SMs from each other: kernels of ten blocks.
  const int parts = 6;
  const auto trace = test::make_trace(kRanks, [=](trace::TraceBuilder& b, int rank) {
    const uint32_t compute = b.stream(0), side = b.stream(-5);
    const uint32_t tp = b.communicator(1, rank, kRanks);
    for (uint32_t j = 0; j < parts; ++j) {
      b.kernel(compute, "part", 10, 1024, 256 << 20).record_event(compute, j + 1);
      b.wait_event(side, j + 1);
      b.collective(side, tp, CollectiveFunction::kAllReduce, 8 << 20);
    }
  });
  const SimulationResult result = test::run(trace, test::make_box(kRanks));
  PipelineCosts costs;
  costs.compute = parts * length(items(result, 0, "kernel")[0]);
  costs.transfer = parts * length(items(result, 0, "collective")[0]);
  EXPECT_NEAR(result.total_us / pipeline_time(costs, parts), 1.0, 0.01);
}

TEST(SimulatorOverlap, PartsBeatSerialWhenQueuesAllow) {
  const Topology box = test::make_box(kRanks);
  const double serial = test::run(pipeline(1), box).total_us;
  const double parts = test::run(pipeline(4), box).total_us;
  EXPECT_LT(parts, serial * 0.9);
}

TEST(SimulatorOverlap, OneHardwareQueueDefeatsEarlyParts) {
  const Topology box = test::make_box(kRanks);
  // The waits stand behind all GEMM parts in the one queue, and the first wait is satisfied only as
  // they leave it: the first sub-collective starts after the last part has started.
  const SimulationResult one = test::run(pipeline(4, 1), box);
  const SimulationResult many = test::run(pipeline(4, 8), box);
  EXPECT_GE(items(one, 0, "collective")[0].start_us, items(one, 0, "gemm").back().start_us - 1e-6);
  EXPECT_LT(items(many, 0, "collective")[0].start_us, items(many, 0, "gemm")[1].end_us);
  EXPECT_GT(one.total_us, many.total_us * 1.1);
}

TEST(SimulatorOverlap, SpeedupIntervalHoldsThePoint) {
  const Topology box = test::make_box(kRanks);
  SimulationOptions options;
  options.step_collective = "allreduce";
  options.step_every = 1;
  SimulationOptions in_parts = options;
  in_parts.step_every = 4;
  const Result<SpeedupPrediction> same =
      predict_speedup(pipeline(1), options, pipeline(1), options, box, test::plain_gpu());
  ASSERT_TRUE(same.has_value()) << same.error().text();
  EXPECT_DOUBLE_EQ(same->speedup, 1.0);
  EXPECT_DOUBLE_EQ(same->low, 1.0);  // the same draws on both sides cancel out
  EXPECT_DOUBLE_EQ(same->high, 1.0);
  const Result<SpeedupPrediction> gain =
      predict_speedup(pipeline(1), options, pipeline(4), in_parts, box, test::plain_gpu());
  ASSERT_TRUE(gain.has_value()) << gain.error().text();
  EXPECT_GT(gain->speedup, 1.1);
  EXPECT_LE(gain->low, gain->speedup);
  EXPECT_GE(gain->high, gain->speedup);
  const Result<Prediction> step = predict_step(pipeline(1), box, test::plain_gpu(), options);
  ASSERT_TRUE(step.has_value()) << step.error().text();
  EXPECT_LT(step->low_us, step->step_us);
  EXPECT_GT(step->high_us, step->step_us);
}

}  // namespace
}  // namespace braid::model
