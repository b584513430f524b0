// Who tells the ledger what is enqueued: CUPTI's driver callbacks, or the exported runtime.
#pragma once

namespace braid::interposer {

/// True while CUPTI callbacks of ours see every way to enqueue work (design §4, "Coverage").
bool is_coverage_complete();

/// True while CUPTI callbacks of ours report anything at all: then the runtime hooks stay silent.
bool is_cupti_observing();

/// Subscribes to CUPTI's driver callbacks if that is possible and wanted; idempotent, called when a
/// communicator becomes active and when recording starts. Logs why not.
void start_coverage();

/// Another profiler comes: unsubscribes, and counts as work on all streams.
void stop_coverage(const char* why);

}  // namespace braid::interposer
