// Replays a trace on a topology and a GPU model and predicts when everything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/gpu.hpp"
#include "model/stock_nccl.hpp"
#include "model/topology.hpp"
#include "model/trace.hpp"

namespace braid::model {

/// Factors on the model's constants, for intervals. 1.0: the value as shipped.
struct ModelFactors {
  double compute = 1.0;     // time of GEMMs and kernels
  double bandwidth = 1.0;   // of links, inverse in time
  double latency = 1.0;     // of collectives
  double launch = 1.0;      // host time a call
  double contention = 1.0;  // slow-down of compute while a collective runs
};

struct SimulationOptions {
  NcclSettings nccl;  // settings the trace's own are merged into (these win)
  std::vector<config::TunerRule> tuner_rules;  // of the tuner plugin the job ran with
  int hardware_queues = 0;  // 0: from the trace's CUDA_DEVICE_MAX_CONNECTIONS, else 8
  ModelFactors factors;
  std::string step_range;       // NVTX range that is a step; "": find the period
  std::string step_collective;  // "allreduce": step = every `step_every` of them
  int step_every = 0;
  bool require_steps = true;  // false: a trace in which no step is found gives an empty step_us
};

/// One thing that ran on a device.
struct TimelineItem {
  int rank = 0;
  int file = 0;         // index into Trace::ranks
  uint32_t stream = 0;  // id in that file
  uint32_t record = 0;  // index into RankTrace::records
  double start_us = 0, end_us = 0;
  std::string name;      // "gemm 4096x8192x1024 bf16", "AllReduce 64MiB Ring/Simple"
  std::string category;  // "gemm", "kernel", "copy", "collective"
};

/// From the end of what all ranks had issued before a step to the end of what they issued in it.
struct StepTimes {
  double start_us = 0, end_us = 0;
};

struct SimulationResult {
  std::vector<TimelineItem> timeline;  // by rank, then start
  std::vector<StepTimes> steps;        // over all ranks
  std::vector<double> step_us;         // their lengths
  double median_step_us = 0;
  double total_us = 0;
  double exposed_communication_us =
      0;  // a step, median: no compute ran on that rank (mean of ranks)
  std::vector<std::string> algorithms;  // "AllReduce 64MiB: Tree/Simple", each once
  std::vector<std::string> guesses;     // kernels of unknown duration, with their share of time
  std::vector<std::string> warnings;    // what was left out of the replay, and why
};

/// Replays the trace. Host time between calls is not in it: a thread makes its next call as soon as
/// the last one and its own waits allow, so predicted steps leave out what the program computes on
/// the CPU. Deterministic; safe to call from several threads.
///
/// Errors: a wait for an event never recorded, ranks whose collectives do not match, no period
/// found (the message suggests --step-range and --step-every), more ranks than GPUs, a replay that
/// cannot go on (the message says who waits for what).
Result<SimulationResult> simulate(const trace::Trace& trace, const Topology& topology,
                                  const GpuModel& gpu, const SimulationOptions& options);

/// A step time with the interval that model uncertainty gives it.
struct Prediction {
  double step_us = 0, low_us = 0, high_us = 0;
};
/// speed-up = baseline / arm, computed with the same factors in both (they move together).
struct SpeedupPrediction {
  double speedup = 1, low = 1, high = 1;
};
/// The draws of ModelFactors that make the interval (fixed list, documented with its reasons).
const std::vector<ModelFactors>& interval_factors();

/// Median step under options.factors, and the least and greatest over interval_factors() (which
/// multiply them). Errors as simulate.
Result<Prediction> predict_step(const trace::Trace& trace, const Topology& topology,
                                const GpuModel& gpu, const SimulationOptions& options);

/// Two traces of the same program on the same box, each with its own options (NCCL settings,
/// steps): every draw is applied to both before the quotient is taken, so what they share cancels
/// out.
Result<SpeedupPrediction> predict_speedup(const trace::Trace& baseline,
                                          const SimulationOptions& baseline_options,
                                          const trace::Trace& arm,
                                          const SimulationOptions& arm_options,
                                          const Topology& topology, const GpuModel& gpu);

}  // namespace braid::model
