// Measured step times of arms that alternated on one machine.
#pragma once

#include <string>
#include <vector>

#include "cli/traces/step_finder.hpp"
#include "config/result.hpp"
#include "model/simulator.hpp"
#include "model/trace.hpp"

namespace braid::cli {

/// Step lengths of one arm over all its runs.
struct MeasuredSteps {
  std::vector<std::vector<double>> runs_us;  // a list a run

  std::vector<double> all() const;
};

/// Adds the steps of one run, taken from the host times of its first rank. The first step after the
/// start is left out (allocation, connection set-up).
Status add_run(const model::trace::Trace& trace, const StepRule& rule, MeasuredSteps* steps);

/// The order in which a round visits `arms` arms: forwards, then backwards (ABBA), so that a drift
/// of clocks or temperature meets all arms alike.
std::vector<int> alternating_order(int arms, int rounds);

/// Median step and its 95 % interval, by resampling runs and steps with a fixed seed.
model::Prediction measured_interval(const MeasuredSteps& steps);
/// Ratio of medians, baseline over arm, and its 95 % interval.
model::SpeedupPrediction measured_speedup(const MeasuredSteps& baseline, const MeasuredSteps& arm);

double median_of(std::vector<double> values);

}  // namespace braid::cli
