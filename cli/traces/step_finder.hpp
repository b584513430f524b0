// Steps as a rank's host saw them: when each period of its collectives began.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/trace.hpp"

namespace braid::cli {

/// Which collectives make up a step.
struct StepRule {
  std::string range;       // NVTX range; "": by the sequence of collectives
  std::string collective;  // "allreduce" with `every`: each Nth call begins a step
  int every = 0;
};

/// Host times (CLOCK_MONOTONIC) at which steps began, of the first rank in the file.
struct HostSteps {
  std::vector<uint64_t> start_ns;
  size_t period = 0;  // collectives a step, 0 when an NVTX range decided

  /// Lengths in µs; one less than there are starts.
  std::vector<double> lengths_us() const;
};

/// Errors: no collective at all, or no period found (the text suggests --step-range, --step-every).
Result<HostSteps> find_host_steps(const model::trace::RankTrace& file, const StepRule& rule);

}  // namespace braid::cli
