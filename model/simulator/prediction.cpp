// Intervals: the same replay under a fixed list of changed constants.
#include <algorithm>

#include "model/simulator/replay.hpp"

namespace braid::model {
namespace {

ModelFactors times(const ModelFactors& a, const ModelFactors& b) {
  return {a.compute * b.compute, a.bandwidth * b.bandwidth, a.latency * b.latency,
          a.launch * b.launch, a.contention * b.contention};
}

}  // namespace

const std::vector<ModelFactors>& interval_factors() {
  constexpr double kUp = 1.25, kDown = 0.75;
  static const std::vector<ModelFactors> draws = {
      // Each constant alone: estimates and data-sheet figures are seldom nearer than a quarter.
      {.compute = kUp},
      {.compute = kDown},
      {.bandwidth = kUp},
      {.bandwidth = kDown},
      {.latency = kUp},
      {.latency = kDown},
      {.launch = kUp},
      {.launch = kDown},
      // Compute never gets faster by a collective that runs beside it, so only upwards; one GEMM
      // next
      // to send/recv on spare SMs was seen to lose much of this (nccl issue 1433).
      {.contention = kUp},
      // The balance of compute and transfer decides what overlap gives: its extreme corners.
      {.compute = kUp, .bandwidth = kUp},
      {.compute = kDown, .bandwidth = kDown},
      // All that a step adds up to, slow and fast.
      {.compute = kUp, .bandwidth = kDown, .latency = kUp, .launch = kUp, .contention = kUp},
      {.compute = kDown, .bandwidth = kUp, .latency = kDown, .launch = kDown},
      // Fixed costs alone, which is what decomposition pays with: dear and cheap.
      {.latency = kUp, .launch = kUp, .contention = kUp},
      {.latency = kDown, .launch = kDown},
  };
  return draws;
}

Result<Prediction> predict_step(const trace::Trace& trace, const Topology& topology,
                                const GpuModel& gpu, const SimulationOptions& options) {
  Result<Replay> replay = Replay::prepare(trace, topology, gpu, options);
  if (!replay) {
    return tl::unexpected(replay.error());
  }
  Result<double> middle = replay->median_step_us(options.factors);
  if (!middle) {
    return tl::unexpected(middle.error());
  }
  Prediction prediction{*middle, *middle, *middle};
  for (const ModelFactors& draw : interval_factors()) {
    Result<double> step = replay->median_step_us(times(options.factors, draw));
    if (!step) {
      return tl::unexpected(step.error());
    }
    prediction.low_us = std::min(prediction.low_us, *step);
    prediction.high_us = std::max(prediction.high_us, *step);
  }
  return prediction;
}

Result<SpeedupPrediction> predict_speedup(const trace::Trace& baseline,
                                          const SimulationOptions& baseline_options,
                                          const trace::Trace& arm,
                                          const SimulationOptions& arm_options,
                                          const Topology& topology, const GpuModel& gpu) {
  Result<Replay> before = Replay::prepare(baseline, topology, gpu, baseline_options);
  if (!before) {
    return tl::unexpected(before.error());
  }
  Result<Replay> after = Replay::prepare(arm, topology, gpu, arm_options);
  if (!after) {
    return tl::unexpected(after.error());
  }
  const auto quotient = [&](const ModelFactors& draw) -> Result<double> {
    Result<double> slow = before->median_step_us(times(baseline_options.factors, draw));
    if (!slow) {
      return slow;
    }
    Result<double> fast = after->median_step_us(times(arm_options.factors, draw));
    if (!fast) {
      return fast;
    }
    return *fast > 0 ? *slow / *fast : 1.0;
  };
  Result<double> middle = quotient(ModelFactors{});
  if (!middle) {
    return tl::unexpected(middle.error());
  }
  SpeedupPrediction prediction{*middle, *middle, *middle};
  for (const ModelFactors& draw : interval_factors()) {
    Result<double> speedup = quotient(draw);
    if (!speedup) {
      return tl::unexpected(speedup.error());
    }
    prediction.low = std::min(prediction.low, *speedup);
    prediction.high = std::max(prediction.high, *speedup);
  }
  return prediction;
}

}  // namespace braid::model
