// One step of an arm as drawing data: rows of rectangles.
#pragma once

#include <string>

#include "cli/json_output.hpp"
#include "model/simulator/steps.hpp"
#include "model/trace.hpp"

namespace braid::cli {

/// What ran in the window:
/// {"name","length_us","rows":[{"rank","label"}],"names":[…],"items":[[row,start,end,category,name],…],
///  "left_out":n}. Times in µs from the window's start; category is an index into
///  timeline_categories.
Json timeline_json(const std::string& name, const model::trace::Trace& trace,
                   const model::SimulationResult& result, const model::StepTimes& window);

/// "gemm", "kernel", "copy", "collective": the order of the colours.
const std::vector<std::string>& timeline_categories();

}  // namespace braid::cli
