// The event loop: host threads, streams, SMs, collectives and links, advanced together.
#pragma once

#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/cost/communication.hpp"
#include "model/gpu.hpp"
#include "model/simulator.hpp"
#include "model/simulator/workload.hpp"
#include "model/trace.hpp"

namespace braid::model {

/// When an op ran. Negative: it has no such time (event records, waits, host waits: only an end).
struct OpTimes {
  double start_us = -1;  // for collectives: when it held its SMs
  double end_us = -1;
};

/// The outcome of a replay, parallel to Workload::programs and their ops.
struct Schedule {
  std::vector<std::vector<OpTimes>> times;
  std::vector<std::vector<std::string>> algorithms;  // of collectives; "" for all else
  std::vector<std::string> guessed_kernels;          // names, by device time, most first
  std::vector<double> guessed_us;                    // device time of each, over all ranks
};

/// What stays the same in all replays of a trace on a box: interval draws share it.
struct Scene {
  const trace::Trace& trace;
  const Workload& workload;
  const GpuModel& gpu;
  const CommunicationModel& network;
  const std::vector<StockPlan>& plans;  // by communicator; unused for those of one rank
  int max_channels = 0;
  int hardware_queues = 8;
};

/// Replays the workload. Deterministic. Fails when nothing can go on: the message says which
/// streams and threads wait, and for what.
Result<Schedule> run_engine(const Scene& scene, const ModelFactors& factors);

}  // namespace braid::model
