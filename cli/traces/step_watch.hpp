// Follows the trace of a running job and says when enough steps were seen (--steps N).
#pragma once

#include <chrono>
#include <string>

#include "cli/traces/step_finder.hpp"

namespace braid::cli {

/// Looks into the trace folder at most once a second.
class StepWatch {
 public:
  StepWatch(std::string folder, int steps, StepRule rule = {})
      : folder_(std::move(folder)), steps_(steps), rule_(std::move(rule)) {}

  /// True once the first rank's file holds `steps` whole steps. Unreadable or incomplete files
  /// count as "not yet".
  bool reached();

 private:
  std::string folder_;
  int steps_;
  StepRule rule_;
  std::chrono::steady_clock::time_point next_look_{};
};

}  // namespace braid::cli
