// Predictions with intervals: one simulation as the model stands, one for each draw of its
// constants.
#pragma once

#include <vector>

#include "config/result.hpp"
#include "model/simulator.hpp"
#include "model/simulator/steps.hpp"

namespace braid::cli {

/// One arm's simulations.
struct Forecast {
  model::SimulationResult central;  // with the factors as shipped
  std::vector<double> step_us;      // median step by model::interval_factors(), same order
};

/// Simulates a trace with the model as shipped and with every draw of interval_factors().
Result<Forecast> forecast_arm(const model::trace::Trace& trace, const model::Topology& topology,
                              const model::GpuModel& gpu, const model::SimulationOptions& options);

/// The step time and the range over all draws.
model::Prediction step_interval(const Forecast& forecast);

/// baseline / arm, with the same draw in both.
model::SpeedupPrediction speedup_interval(const Forecast& baseline, const Forecast& arm);

}  // namespace braid::cli
