// What both sources of observation report: CUPTI's driver callbacks and the exported runtime's
// hooks. Each notes the work in the ledger and in the trace.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "model/trace_format.hpp"

namespace braid::interposer {

struct LaunchShape {
  const char* name = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
};

void observe_kernel(CUstream stream, const LaunchShape& shape);
void observe_copy(CUstream stream, uint64_t bytes, model::trace::CopyKind kind, bool asynchronous);
void observe_host_function(CUstream stream);
void observe_event_record(CUevent event, CUstream stream);
/// After the wait was enqueued (StreamLedger::prepare_wait comes before).
void observe_wait(CUstream stream, CUevent event);
void observe_wait_value(CUstream stream, uint64_t address, uint64_t value, unsigned flags,
                        unsigned bytes);
void observe_write_value(CUstream stream, uint64_t address, uint64_t value, unsigned bytes);
void observe_host_wait_stream(CUstream stream);
void observe_host_wait_event(CUevent event);
void observe_host_wait_device();
/// Stream-ordered work that is not worth a record of its own, or is not understood.
void observe_other_work(CUstream stream);
void observe_unknown_work();
void observe_stream_destroyed(CUstream stream);
void observe_event_destroyed(CUevent event);

}  // namespace braid::interposer
