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
  double compute = 1.0;          // time of GEMMs and kernels
  double bandwidth = 1.0;        // of links, inverse in time
  double latency = 1.0;          // of collectives
  double launch = 1.0;           // host time a call
  double contention = 1.0;       // slow-down of compute while a collective runs
};

struct SimulationOptions {
  NcclSettings nccl;             // settings the trace's own are merged into (these win)
  int hardware_queues = 0;       // 0: from the trace's CUDA_DEVICE_MAX_CONNECTIONS, else 8
  ModelFactors factors;
  std::string step_range;        // NVTX range that is a step; "": find the period
  std::string step_collective;   // "allreduce": step = every `step_every` of them
  int step_every = 0;
};

/// One thing that ran on a device.
struct TimelineItem {
  int rank = 0;
  uint32_t stream = 0;           // id in that rank's trace
  uint32_t record = 0;           // index into RankTrace::records
  double start_us = 0, end_us = 0;
  std::string name;              // "gemm 4096x8192x1024 bf16", "AllReduce 64MiB Ring/Simple"
  std::string category;          // "gemm", "kernel", "copy", "collective"
};

struct SimulationResult {
  std::vector<TimelineItem> timeline;    // by rank, then start
  std::vector<double> step_us;           // one a step, over all ranks
  double median_step_us = 0;
  double total_us = 0;
  double exposed_communication_us = 0;   // a step, median: no compute ran on that rank
  std::vector<std::string> algorithms;   // "AllReduce 64MiB: Tree/Simple", each once
  std::vector<std::string> guesses;      // kernels of unknown duration, with their share of time
};

/// Errors: a wait for an event never recorded, ranks whose collectives do not match, no period found
/// (the message suggests --step-range and --step-every), more ranks than GPUs.
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

}  // namespace braid::model
