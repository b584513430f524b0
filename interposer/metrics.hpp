// Counters as a Prometheus text file (BRAID_METRICS), for a node exporter to pick up.
#pragma once

namespace braid::interposer {

/// Called after each collective: rewrites the file when the last time is half a minute past. Costs
/// a counter's increment in all but one of 256 calls. Thread safe.
void refresh_metrics();

/// Writes the file now, in one step. Does nothing when BRAID_METRICS is not set.
void write_metrics();

}  // namespace braid::interposer
