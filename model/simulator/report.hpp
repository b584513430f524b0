// Turns a schedule into what users read.
#pragma once

#include <vector>

#include "model/simulator.hpp"
#include "model/simulator/engine.hpp"
#include "model/simulator/steps.hpp"

namespace braid::model {

/// Timeline, step times, exposed communication, algorithms and guesses of a replay.
SimulationResult make_report(const trace::Trace& trace, const Workload& workload,
                             const Schedule& schedule, const std::vector<StepTimes>& steps);

/// "64MiB", "1536KiB", "1000B": the greatest binary unit that leaves a whole number.
std::string format_bytes(uint64_t bytes);

}  // namespace braid::model
