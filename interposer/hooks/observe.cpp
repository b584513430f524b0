#include "interposer/hooks/observe.hpp"

#include "interposer/driver_api.hpp"
#include "interposer/process_state.hpp"
#include "interposer/recorder.hpp"
#include "interposer/stream_ledger.hpp"

namespace braid::interposer {
namespace trace = model::trace;
namespace {

template <typename Payload>
void record(trace::RecordType type, CUstream stream, const Payload& payload) {
  if (Recorder& recorder = Recorder::instance(); recorder.is_enabled()) {
    const StreamIdentity identity = StreamLedger::instance().identify(stream);
    recorder.record(identity.device, type, 0, identity.id, payload);
  }
}

}  // namespace

void observe_kernel(CUstream stream, const LaunchShape& shape) {
  StreamLedger::instance().note_work(stream);
  Recorder& recorder = Recorder::instance();
  if (!recorder.is_enabled()) {
    return;
  }
  const StreamIdentity identity = StreamLedger::instance().identify(stream);
  trace::Kernel kernel{};
  kernel.name = recorder.intern(identity.device, shape.name != nullptr ? shape.name : "unknown");
  kernel.shared_bytes = shape.shared_bytes;
  for (int axis = 0; axis < 3; ++axis) {
    kernel.grid[axis] = shape.grid[axis];
    kernel.block[axis] = shape.block[axis];
  }
  recorder.record(identity.device, trace::RecordType::kKernel, 0, identity.id, kernel);
}

void observe_copy(CUstream stream, uint64_t bytes, trace::CopyKind kind, bool asynchronous) {
  StreamLedger::instance().note_work(stream);
  record(trace::RecordType::kCopy, stream,
         trace::Copy{bytes, static_cast<uint32_t>(kind), asynchronous ? 1u : 0u});
}

void observe_host_function(CUstream stream) {
  StreamLedger::instance().note_work(stream);
  if (Recorder& recorder = Recorder::instance(); recorder.is_enabled()) {
    const StreamIdentity identity = StreamLedger::instance().identify(stream);
    recorder.record_bare(identity.device, trace::RecordType::kHostFunction, 0, identity.id);
  }
}

void observe_event_record(CUevent event, CUstream stream) {
  const auto identity = StreamLedger::instance().note_event_record(event, stream);
  record(trace::RecordType::kEventRecord, stream, trace::Event{identity.event, identity.recording});
}

void observe_wait(CUstream stream, CUevent event) {
  const auto identity = StreamLedger::instance().note_wait(stream, event);
  record(trace::RecordType::kStreamWait, stream, trace::Event{identity.event, identity.recording});
}

void observe_wait_value(CUstream stream, uint64_t address, uint64_t value, unsigned flags,
                        unsigned bytes) {
  StreamLedger::instance().note_work(stream);
  record(trace::RecordType::kWaitValue, stream, trace::WaitValue{address, value, flags, bytes});
}

void observe_write_value(CUstream stream, uint64_t address, uint64_t value, unsigned bytes) {
  StreamLedger::instance().note_work(stream);
  record(trace::RecordType::kWriteValue, stream, trace::WaitValue{address, value, 0, bytes});
}

void observe_host_wait_stream(CUstream stream) {
  record(trace::RecordType::kHostWait, stream,
         trace::HostWait{static_cast<uint32_t>(trace::HostWaitKind::kStream), 0, 0, 0});
}

void observe_host_wait_event(CUevent event) {
  const auto identity = StreamLedger::instance().identify_event(event);
  Recorder::instance().record(current_device(), trace::RecordType::kHostWait, 0, trace::kNoStream,
                              trace::HostWait{static_cast<uint32_t>(trace::HostWaitKind::kEvent),
                                              identity.event, identity.recording, 0});
}

void observe_host_wait_device() {
  if (Recorder& recorder = Recorder::instance(); recorder.is_enabled()) {
    recorder.record(current_device(), trace::RecordType::kHostWait, 0, trace::kNoStream,
                    trace::HostWait{static_cast<uint32_t>(trace::HostWaitKind::kDevice), 0, 0, 0});
  }
}

void observe_other_work(CUstream stream) { StreamLedger::instance().note_work(stream); }

void observe_unknown_work() { StreamLedger::instance().note_unknown_work(); }

void observe_stream_destroyed(CUstream stream) {
  StreamLedger::instance().note_stream_destroyed(stream);
}

void observe_event_destroyed(CUevent event) {
  StreamLedger::instance().note_event_destroyed(event);
}

}  // namespace braid::interposer
