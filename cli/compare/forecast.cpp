#include "cli/compare/forecast.hpp"

#include <algorithm>

#include "model/simulator/replay.hpp"

namespace braid::cli {
Result<Forecast> forecast_arm(const model::trace::Trace& trace, const model::Topology& topology,
                              const model::GpuModel& gpu, const model::SimulationOptions& options) {
  const auto replay = model::Replay::prepare(trace, topology, gpu, options);
  if (!replay) {
    return tl::unexpected(replay.error());
  }
  auto central = replay->run(options.factors);
  if (!central) {
    return tl::unexpected(central.error());
  }
  Forecast forecast;
  forecast.central = std::move(*central);
  for (const model::ModelFactors& factors : model::interval_factors()) {
    const auto step_us = replay->median_step_us(factors);
    if (!step_us) {
      return tl::unexpected(step_us.error());
    }
    forecast.step_us.push_back(*step_us);
  }
  return forecast;
}

model::Prediction step_interval(const Forecast& forecast) {
  model::Prediction prediction;
  prediction.step_us = prediction.low_us = prediction.high_us = forecast.central.median_step_us;
  for (const double step_us : forecast.step_us) {
    prediction.low_us = std::min(prediction.low_us, step_us);
    prediction.high_us = std::max(prediction.high_us, step_us);
  }
  return prediction;
}

model::SpeedupPrediction speedup_interval(const Forecast& baseline, const Forecast& arm) {
  const auto ratio = [](double stock_us, double arm_us) {
    return arm_us > 0 ? stock_us / arm_us : 1.0;
  };
  model::SpeedupPrediction prediction;
  prediction.speedup = prediction.low = prediction.high =
      ratio(baseline.central.median_step_us, arm.central.median_step_us);
  for (size_t i = 0; i < std::min(baseline.step_us.size(), arm.step_us.size()); ++i) {
    const double speedup = ratio(baseline.step_us[i], arm.step_us[i]);
    prediction.low = std::min(prediction.low, speedup);
    prediction.high = std::max(prediction.high, speedup);
  }
  return prediction;
}

}  // namespace braid::cli
