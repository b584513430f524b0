#include "cli/commands/step_options.hpp"

#include <charconv>

#include "config/policy.hpp"

namespace braid::cli {

void StepOptions::define(CLI::App& app) {
  app.add_option("--step-range", range,
                 "A step is this NVTX range (default: the period of the "
                 "collectives' sequence)")
      ->type_name("NAME");
  app.add_option("--step-every", every,
                 "A step is every Nth call of a collective, e.g. allreduce,4")
      ->type_name("COLLECTIVE,N");
}

Result<model::SimulationOptions> StepOptions::simulation_options() const {
  model::SimulationOptions options;
  if (!range.empty() && !every.empty()) {
    return fail("--step-every", "cannot be used together with --step-range");
  }
  options.step_range = range;
  if (every.empty()) {
    return options;
  }
  const size_t comma = every.find(',');
  const std::string collective = every.substr(0, comma);
  const std::string number = comma == std::string::npos ? "" : every.substr(comma + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), options.step_every);
  if (error != std::errc() || end != number.data() + number.size() || options.step_every < 1 ||
      !config::collective_from(collective)) {
    return fail("--step-every " + every,
                "a collective and a count of at least 1 were expected, as in allreduce,4");
  }
  options.step_collective = collective;
  return options;
}

}  // namespace braid::cli
