// A trace made ready for a box, so that it can be replayed under several factors.
#pragma once

#include <vector>

#include "config/result.hpp"
#include "model/simulator.hpp"
#include "model/simulator/engine.hpp"
#include "model/simulator/workload.hpp"

namespace braid::model {

/// Everything about a replay that does not depend on ModelFactors: the work, the communicators'
/// rings and trees, the steps. The trace, topology and GPU passed to prepare must outlive it.
class Replay {
 public:
  static Result<Replay> prepare(const trace::Trace& trace, const Topology& topology,
                                const GpuModel& gpu, const SimulationOptions& options);

  Result<SimulationResult> run(const ModelFactors& factors) const;
  /// Only the median step.
  Result<double> median_step_us(const ModelFactors& factors) const;

 private:
  Replay(const trace::Trace& trace, const Topology& topology, const GpuModel& gpu,
         const SimulationOptions& options)
      : trace_(&trace), gpu_(&gpu), options_(options), network_(topology) {}

  Result<Schedule> schedule(const ModelFactors& factors) const;

  const trace::Trace* trace_;
  const GpuModel* gpu_;
  SimulationOptions options_;
  CommunicationModel network_;
  Workload workload_;
  std::vector<StockPlan> plans_;
  int hardware_queues_ = 8;
};

}  // namespace braid::model
