// A simulated run in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "config/result.hpp"
#include "model/simulator.hpp"
#include "model/trace.hpp"

namespace braid::cli {

/// The JSON document: one process a rank, one thread a stream, complete events in µs, names as
/// metadata.
std::string perfetto_json(const model::trace::Trace& trace, const model::SimulationResult& result);

/// How a stream of a file (index into Trace::ranks) is called in drawings: "stream 3",
/// "default stream", "stream 7 (braid)".
std::string stream_label(const model::trace::Trace& trace, int file, uint32_t stream);

}  // namespace braid::cli
