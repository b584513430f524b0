// What a step is: --step-range and --step-every.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "config/result.hpp"
#include "model/simulator.hpp"

namespace braid::cli {

struct StepOptions {
  std::string range;  // NVTX range
  std::string every;  // "allreduce,4"

  void define(CLI::App& app);
  /// Only the step fields are set. Errors: both options at once, or a malformed --step-every.
  Result<model::SimulationOptions> simulation_options() const;
};

}  // namespace braid::cli
