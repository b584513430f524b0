// Where the steps of a run begin and end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/result.hpp"
#include "model/simulator.hpp"
#include "model/simulator/engine.hpp"

namespace braid::model {

/// A sequence's repetition: from `first` on it repeats every `length` entries, `count` times.
struct Period {
  size_t first = 0, length = 0, count = 0;
};

/// The shortest period that covers more than half of the sequence and repeats at least twice;
/// entries before and after it (warm-up, a closing call) are allowed. nullopt: there is none.
std::optional<Period> find_period(const std::vector<uint64_t>& sequence);

/// Steps by SimulationOptions: an NVTX range, every Nth collective of a kind, or else the period of
/// the program's own sequence of collectives (told apart by the GEMMs before them where that
/// repeats too). A step ends when all ranks have finished what they had issued by then. Errors
/// suggest
/// --step-range and --step-every.
Result<std::vector<StepTimes>> find_steps(const trace::Trace& trace, const Workload& workload,
                                          const Schedule& schedule,
                                          const SimulationOptions& options);

/// Middle value (mean of the two middle ones); 0 of nothing.
double median(std::vector<double> values);

}  // namespace braid::model
