#include "interposer/execute/record_calls.hpp"

#include <atomic>

#include "interposer/driver_api.hpp"
#include "interposer/process_state.hpp"
#include "interposer/recorder.hpp"
#include "interposer/stream_ledger.hpp"

namespace braid::interposer {
namespace trace = model::trace;
namespace {

std::atomic<uint64_t> g_split{0};
std::atomic<uint64_t> g_overlapped{0};

uint16_t group_flag() {
  return thread_state().group_depth > 0 ? static_cast<uint16_t>(trace::kInGroup) : uint16_t{0};
}

trace::Collective describe(const CommunicatorState* state, const CollectiveCall& call) {
  trace::Collective record{};
  record.communicator = state != nullptr ? state->id : 0;
  record.function = static_cast<uint32_t>(call.function);
  record.type = static_cast<uint32_t>(element_type_of(call.type));
  record.op = call.signature().op;
  record.root = call.root;
  record.count = call.count;
  record.sequence = state != nullptr ? state->sequence : 0;
  record.send_address = reinterpret_cast<uint64_t>(call.send);
  record.receive_address = reinterpret_cast<uint64_t>(call.receive);
  return record;
}

}  // namespace

void record_collective(const CommunicatorState* state, const CollectiveCall& call, bool replaced) {
  Recorder& recorder = Recorder::instance();
  if (!recorder.is_enabled()) {
    return;
  }
  const StreamIdentity stream = StreamLedger::instance().identify(call.stream);
  const uint16_t flags = group_flag() | (replaced ? trace::kUserCall : 0);
  recorder.record(stream.device, trace::RecordType::kCollective, flags, stream.id,
                  describe(state, call));
}

void record_part(const CommunicatorState& state, const CollectiveCall& call, const PlanEntry& plan,
                 uint32_t part, CUstream stream) {
  Recorder& recorder = Recorder::instance();
  if (!recorder.is_enabled()) {
    return;
  }
  const StreamIdentity identity = StreamLedger::instance().identify(stream);
  const uint64_t offset = plan.boundaries[part] * call.element_bytes();
  trace::Collective record = describe(&state, call);
  record.part = part;
  record.count = plan.boundaries[part + 1] - plan.boundaries[part];
  record.send_address += offset;
  record.receive_address += offset;
  recorder.record(identity.device, trace::RecordType::kCollective, trace::kIssuedByBraid,
                  identity.id, record);
}

void record_rewrite(const CommunicatorState& state, const PlanEntry& plan, bool overlapped) {
  g_split.fetch_add(1, std::memory_order_relaxed);
  if (overlapped) {
    g_overlapped.fetch_add(1, std::memory_order_relaxed);
  }
  const trace::Rewrite record{static_cast<uint32_t>(trace::RewriteKind::kProducer), state.id,
                              state.sequence, plan.parts(), overlapped ? 1u : 0u};
  Recorder::instance().record(state.device, trace::RecordType::kRewrite, 0, trace::kNoStream,
                              record);
}

void record_event_record(CUstream stream, CUevent event) {
  StreamLedger& ledger = StreamLedger::instance();
  const auto identity = ledger.note_event_record(event, stream);
  const StreamIdentity on = ledger.identify(stream);
  Recorder::instance().record(on.device, trace::RecordType::kEventRecord, trace::kIssuedByBraid,
                              on.id, trace::Event{identity.event, identity.recording});
}

void record_wait(CUstream stream, CUevent event) {
  StreamLedger& ledger = StreamLedger::instance();
  const auto identity = ledger.note_wait(stream, event);
  const StreamIdentity on = ledger.identify(stream);
  Recorder::instance().record(on.device, trace::RecordType::kStreamWait, trace::kIssuedByBraid,
                              on.id, trace::Event{identity.event, identity.recording});
}

bool enqueue_event_record(CUstream stream, CUevent event) {
  record_event_record(stream, event);
  const DriverApi* driver = driver_api();
  RealCallGuard guard;
  return driver != nullptr && driver->event_record(event, stream) == CUDA_SUCCESS;
}

bool enqueue_wait(CUstream stream, CUevent event) {
  record_wait(stream, event);
  const DriverApi* driver = driver_api();
  RealCallGuard guard;
  return driver != nullptr && driver->stream_wait_event(stream, event, 0) == CUDA_SUCCESS;
}

RewriteCounts rewrite_counts() {
  return {g_split.load(std::memory_order_relaxed), g_overlapped.load(std::memory_order_relaxed)};
}

}  // namespace braid::interposer
