#include "interposer/stream_ledger.hpp"

#include "interposer/driver_api.hpp"
#include "interposer/process_state.hpp"
#include "interposer/recorder.hpp"

namespace braid::interposer {
namespace trace = model::trace;
namespace {

bool is_legacy(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

}  // namespace

size_t StreamLedger::StreamKeyHash::operator()(const StreamKey& key) const {
  const uint64_t mixed = reinterpret_cast<uint64_t>(key.stream) ^
                         (static_cast<uint64_t>(key.device) << 48) ^
                         (static_cast<uint64_t>(key.thread) << 32);
  return static_cast<size_t>((mixed ^ (mixed >> 29)) * 0x9e3779b97f4a7c15ull);
}

StreamLedger& StreamLedger::instance() {
  static auto* ledger = new StreamLedger();  // never destroyed: hooks run until the very end
  return *ledger;
}

StreamLedger::StreamKey StreamLedger::key_of(CUstream stream) const {
  if (is_legacy(stream)) {
    return {nullptr, current_device(), 0};
  }
  if (stream == CU_STREAM_PER_THREAD) {
    return {stream, current_device(), thread_number()};
  }
  return {stream, 0, 0};
}

StreamLedger::StreamState& StreamLedger::meet(const StreamKey& key, bool own) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (const auto it = streams_.find(key); it != streams_.end()) {
      return *it->second;
    }
  }
  auto state = std::make_unique<StreamState>();
  const bool is_default = key.stream == nullptr || key.stream == CU_STREAM_PER_THREAD;
  state->legacy = key.stream == nullptr;
  state->identity.device = is_default ? key.device : device_of(key.stream);
  unsigned flags = 0;
  int priority = 0;
  if (const DriverApi* driver = driver_api(); driver != nullptr && !is_default) {
    RealCallGuard guard;
    // A stream whose flags cannot be read counts as blocking, the careful assumption.
    if (driver->stream_get_flags(key.stream, &flags) != CUDA_SUCCESS) {
      flags = CU_STREAM_DEFAULT;
    }
    if (driver->stream_get_priority(key.stream, &priority) != CUDA_SUCCESS) {
      priority = 0;
    }
  }
  state->blocking = !state->legacy && (flags & CU_STREAM_NON_BLOCKING) == 0;

  StreamState* met = nullptr;
  trace::Stream record{};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto [it, inserted] = streams_.try_emplace(key, nullptr);
    if (!inserted) {
      return *it->second;
    }
    state->identity.id = state->legacy ? 0 : next_stream_++;
    record = {state->identity.id, state->identity.device, priority,
              (state->blocking ? 0u : 1u) | (own ? 2u : 0u)};
    met = state.get();
    it->second = std::move(state);
  }
  // The legacy default stream is 0 in every file and needs no record.
  if (!met->legacy) {
    Recorder::instance().record(record.device, trace::RecordType::kStream, 0, record.id, record);
  }
  return *met;
}

StreamMark StreamLedger::mark_of(const StreamState& state) const {
  StreamMark mark{state.work, 0, unknown_work_};
  if (const auto it = devices_.find(state.identity.device); it != devices_.end()) {
    if (state.legacy) {
      mark.implied = it->second.blocking_work;
    } else if (state.blocking) {
      mark.implied = it->second.legacy_work;
    }
  }
  return mark;
}

void StreamLedger::count_work(StreamState& state) {
  ++state.work;
  if (state.legacy) {
    ++devices_[state.identity.device].legacy_work;
  } else if (state.blocking) {
    ++devices_[state.identity.device].blocking_work;
  }
}

StreamIdentity StreamLedger::identify(CUstream stream) { return meet(key_of(stream)).identity; }

void StreamLedger::adopt_own(CUstream stream) { meet(key_of(stream), true); }

void StreamLedger::note_work(CUstream stream) {
  StreamState& state = meet(key_of(stream));
  std::lock_guard<std::mutex> lock(mutex_);
  count_work(state);
  state.gemm_was_whole = false;
}

void StreamLedger::note_unknown_work() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++unknown_work_;
}

StreamMark StreamLedger::mark(CUstream stream) {
  StreamState& state = meet(key_of(stream));
  std::lock_guard<std::mutex> lock(mutex_);
  return mark_of(state);
}

void StreamLedger::note_gemm(CUstream stream, const StreamMark& begin,
                             std::shared_ptr<SplitGemm> gemm) {
  StreamState& state = meet(key_of(stream));
  std::shared_ptr<SplitGemm> previous;  // released outside the lock: it returns events to a pool
  std::shared_ptr<SplitGemm> unused;
  std::lock_guard<std::mutex> lock(mutex_);
  // Another thread's work may lie between the parts: then the last of them does not cover it.
  if (!(mark_of(state) == begin)) {
    unused = std::move(gemm);
  }
  count_work(state);
  previous = std::move(state.gemm);
  state.gemm = std::move(gemm);
  state.gemm_was_whole = state.gemm == nullptr;
  state.gemm_mark = mark_of(state);
}

StreamLedger::EventState& StreamLedger::event_state(CUevent event) {
  EventState& state = events_[event];
  if (state.id == 0) {
    state.id = next_event_++;
  }
  return state;
}

StreamLedger::EventIdentity StreamLedger::note_event_record(CUevent event, CUstream stream) {
  const StreamState& stream_state = meet(key_of(stream));
  std::lock_guard<std::mutex> lock(mutex_);
  EventState& state = event_state(event);
  ++state.recordings;
  const bool right_after_gemm =
      stream_state.gemm != nullptr && stream_state.gemm_mark == mark_of(stream_state);
  state.gemm = right_after_gemm ? stream_state.gemm : nullptr;
  state.refusal = stream_state.gemm != nullptr ? Refusal::kInterveningWork : Refusal::kGemmNotSplit;
  return {state.id, state.recordings};
}

StreamLedger::EventIdentity StreamLedger::identify_event(CUevent event) {
  std::lock_guard<std::mutex> lock(mutex_);
  const EventState& state = event_state(event);
  return {state.id, state.recordings};
}

void StreamLedger::note_event_destroyed(CUevent event) {
  std::lock_guard<std::mutex> lock(mutex_);
  events_.erase(event);
}

void StreamLedger::note_stream_destroyed(CUstream stream) {
  std::unique_ptr<StreamState> dead;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto it = streams_.find(StreamKey{stream, 0, 0});
    if (it == streams_.end()) {
      return;
    }
    dead = std::move(it->second);
    streams_.erase(it);
  }
  EventPool::release(dead->identity.device, dead->before_wait);
}

void StreamLedger::prepare_wait(CUstream stream, CUevent event) {
  StreamState& state = meet(key_of(stream));
  CUevent before = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    state.prepared_for = nullptr;
    const auto it = events_.find(event);
    if (it == events_.end() || it->second.gemm == nullptr) {
      return;
    }
    before = state.before_wait;
    state.prepared_work = state.work;
  }
  // Nothing is created, recorded or queried for our sake inside a capture.
  if (is_capturing(stream)) {
    return;
  }
  if (before == nullptr) {
    before = EventPool::acquire(state.identity.device, stream);
  }
  const DriverApi* driver = driver_api();
  bool recorded = false;
  {
    RealCallGuard guard;
    recorded = before != nullptr && driver != nullptr &&
               driver->event_record(before, stream) == CUDA_SUCCESS;
  }
  if (recorded) {
    const EventIdentity event_identity = note_event_record(before, stream);
    Recorder::instance().record(state.identity.device, trace::RecordType::kEventRecord,
                                trace::kIssuedByBraid, state.identity.id,
                                trace::Event{event_identity.event, event_identity.recording});
  }
  std::lock_guard<std::mutex> lock(mutex_);
  state.before_wait = before;
  state.prepared_for = recorded ? event : nullptr;
}

StreamLedger::EventIdentity StreamLedger::note_wait(CUstream stream, CUevent event) {
  StreamState& state = meet(key_of(stream));
  std::lock_guard<std::mutex> lock(mutex_);
  const EventState& waited = event_state(event);
  // Work another thread put in between is after the recording but before the wait.
  const bool prepared =
      state.prepared_for == event && waited.gemm != nullptr && state.prepared_work == state.work;
  count_work(state);
  state.gemm_was_whole = false;
  state.waited = prepared ? waited.gemm : nullptr;
  state.waited_mark = mark_of(state);
  state.waited_refusal = waited.refusal;
  state.prepared_for = nullptr;
  return {waited.id, waited.recordings};
}

EarlyStart StreamLedger::find_early_start(CUstream stream) {
  StreamState& state = meet(key_of(stream));
  std::lock_guard<std::mutex> lock(mutex_);
  const StreamMark now = mark_of(state);
  EarlyStart result;
  if (state.gemm != nullptr || state.gemm_was_whole) {
    if (state.gemm != nullptr && state.gemm_mark == now) {
      result.gemm = state.gemm;
      return result;
    }
    result.refusal = state.gemm_was_whole && state.gemm_mark == now ? Refusal::kGemmNotSplit
                                                                    : Refusal::kInterveningWork;
  }
  if (state.waited != nullptr) {
    if (state.waited_mark == now) {
      result.gemm = state.waited;
      result.before_wait = state.before_wait;
      return result;
    }
    result.refusal = Refusal::kInterveningWork;
  } else if (state.gemm == nullptr && !state.gemm_was_whole && state.waited_mark == now) {
    result.refusal = state.waited_refusal;
  }
  return result;
}

}  // namespace braid::interposer
