// A comparison of arms: what to run, and what came out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/compare/arm.hpp"
#include "cli/compare/forecast.hpp"
#include "cli/compare/measurement.hpp"
#include "cli/compare/result_file.hpp"
#include "cli/json_output.hpp"
#include "cli/launch/job.hpp"
#include "cli/messages.hpp"
#include "cli/traces/step_finder.hpp"
#include "cli/traces/trace_summary.hpp"
#include "model/gpu.hpp"

namespace braid::cli {

/// What the user asked for, checked.
struct ComparisonRequest {
  CheckedJob stock_job;   // observe mode, no policy
  CheckedJob braid_job;   // auto mode with the policy
  std::vector<Arm> arms;  // stock first, braid last
  std::vector<ResultFile> results;
  std::string folder;                  // traces, logs and results: a folder an arm
  int steps = 0;                       // 0: until the job ends
  int rounds = 1;                      // ABBA rounds on real GPUs
  std::optional<model::GpuModel> gpu;  // set on virtual GPUs
  std::string gpu_why;
  model::SimulationOptions simulation;
  ProcessGroupOptions process_options;

  bool predicted() const { return stock_job.topology.has_value(); }
};

/// One arm's outcome.
struct ArmResult {
  Arm arm;
  std::string folder;
  std::string error;          // why there is no step time; "" when there is
  model::trace::Trace trace;  // of the last run
  TraceSummary summary;
  std::optional<Forecast> forecast;  // virtual GPUs
  MeasuredSteps measured;            // real GPUs
  model::Prediction step;
  model::SpeedupPrediction speedup;                           // over stock
  std::vector<std::pair<std::string, std::string>> settings;  // what this arm set

  bool ok() const { return error.empty(); }
  /// The speed-up's interval contains 1.0, at the three digits that are shown.
  bool no_gain_shown() const { return speedup.low < 1.0005 && speedup.high >= 0.9995; }
  std::vector<std::string> algorithms() const;
};

struct Comparison {
  std::vector<ArmResult> arms;  // as in the request
  uint64_t program_digest = 0;
  std::string host;
  std::optional<double> max_abs_diff;  // stock's results against braid's; none without --result
  std::vector<std::string> notes;      // what a reader should know

  const ArmResult& stock() const { return arms.front(); }
  const ArmResult& braid() const { return arms.back(); }
  /// The fastest arm that is not braid's.
  const ArmResult& best_other() const;
};

/// Runs every arm, reads the traces, predicts or measures. Errors: the program changed between
/// arms, or stock or braid failed; another arm that fails is reported in its ArmResult.
Result<Comparison> run_comparison(const ComparisonRequest& request,
                                  const Installation& installation, const EnvironmentBlock& base,
                                  Progress* progress);

/// The table on stdout.
std::string comparison_text(const ComparisonRequest& request, const Comparison& comparison);
/// The JSON of the command contract, with more fields of each arm.
Json comparison_json(const ComparisonRequest& request, const Comparison& comparison);
/// "topology box.xml, GPU model A6000" or "measured on host".
std::string label_of(const ComparisonRequest& request, const Comparison& comparison);

}  // namespace braid::cli
