#include "interposer/hooks/nccl_groups.hpp"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "interposer/driver_api.hpp"
#include "interposer/execute/producer.hpp"
#include "interposer/execute/record_calls.hpp"
#include "interposer/hooks/nccl.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"
#include "interposer/recorder.hpp"
#include "interposer/stream_ledger.hpp"

namespace braid::interposer {
namespace trace = model::trace;
namespace {

struct Deferred {
  std::shared_ptr<CommunicatorState> state;
  CollectiveCall call;
  std::shared_ptr<const PlanEntry> plan;  // nullptr: made whole
  RealCall whole;
};

struct OpenGroup {
  std::vector<Deferred> deferred;
  std::vector<CUstream> streams;
  std::vector<std::shared_ptr<CommunicatorState>> counted;
};

// A pthread key, not thread_local: the object has a destructor, and thread-local storage stays
// tiny.
pthread_key_t group_key() {
  static const pthread_key_t key = [] {
    pthread_key_t created{};
    pthread_key_create(&created, [](void* group) { delete static_cast<OpenGroup*>(group); });
    return created;
  }();
  return key;
}

OpenGroup& open_group() {
  auto* group = static_cast<OpenGroup*>(pthread_getspecific(group_key()));
  if (group == nullptr) {
    group = new OpenGroup();
    pthread_setspecific(group_key(), group);
  }
  return *group;
}

void record_group(bool start) {
  if (Recorder& recorder = Recorder::instance(); recorder.is_enabled()) {
    recorder.record(
        current_device(), trace::RecordType::kGroup, 0, trace::kNoStream,
        trace::Group{start ? 1u : 0u, static_cast<uint32_t>(thread_state().group_depth)});
  }
}

}  // namespace

namespace {

// One call to NCCL: a part of a planned collective, or a whole one.
ncclResult_t make_call(const Deferred& deferred, uint32_t part) {
  if (deferred.plan == nullptr) {
    RealCallGuard guard;
    return deferred.whole();
  }
  record_part(*deferred.state, deferred.call, *deferred.plan, part, deferred.call.stream);
  return call_all_reduce_part(deferred.call, deferred.plan->boundaries[part],
                              deferred.plan->boundaries[part + 1], deferred.call.stream);
}

bool is_one_communicator(const std::vector<Deferred>& deferred) {
  return std::all_of(deferred.begin(), deferred.end(),
                     [&](const Deferred& other) { return other.state == deferred.front().state; });
}

// NCCL makes everything of a group wait for all streams used in it, and all of them for the group.
// What is made after the real group keeps that: `all` waits for each other stream before, or is
// waited for by each after.
class GroupStreams {
 public:
  GroupStreams(const std::vector<CUstream>& streams, const std::vector<Deferred>& deferred) {
    for (CUstream stream : streams) {
      add(stream);
    }
    for (const Deferred& one : deferred) {
      add(one.call.stream);
    }
  }
  bool are_several() const { return streams_.size() > 1; }

  /// Each stream waits for what all of them hold now.
  ncclResult_t tie() const {
    if (!are_several()) {
      return ncclSuccess;
    }
    for (CUstream waited : streams_) {
      const int device = StreamLedger::instance().identify(waited).device;
      CUevent event = EventPool::acquire(device, waited);
      bool tied = event != nullptr && enqueue_event_record(waited, event);
      for (CUstream waiting : streams_) {
        tied = tied && (waiting == waited || enqueue_wait(waiting, event));
      }
      EventPool::release(device, event);
      if (!tied) {
        return ncclUnhandledCudaError;
      }
    }
    return ncclSuccess;
  }

 private:
  void add(CUstream stream) {
    if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) {
      streams_.push_back(stream);
    }
  }
  std::vector<CUstream> streams_;
};

// Collectives of one communicator: one after the other, as outside a group.
ncclResult_t make_in_order(const std::vector<Deferred>& deferred, bool may_start_early) {
  ncclResult_t result = ncclSuccess;
  for (const Deferred& one : deferred) {
    if (result != ncclSuccess) {
      break;
    }
    result = one.plan != nullptr
                 ? execute_in_parts(*one.state, one.call, *one.plan, may_start_early)
                 : make_call(one, 0);
    StreamLedger::instance().note_work(one.call.stream);
  }
  return result;
}

// Collectives of several communicators: the program grouped them so that no rank's order matters,
// so the next call of each goes into one real group, round by round.
ncclResult_t make_in_rounds(const std::vector<Deferred>& deferred) {
  static RealFunction<decltype(::ncclGroupStart)> group_start(Library::kNccl, "ncclGroupStart");
  static RealFunction<decltype(::ncclGroupEnd)> group_end(Library::kNccl, "ncclGroupEnd");
  struct Queue {
    std::vector<std::pair<const Deferred*, uint32_t>> calls;
    size_t next = 0;
  };
  std::map<CommunicatorState*, Queue> queues;
  for (const Deferred& one : deferred) {
    const uint32_t parts = one.plan != nullptr ? one.plan->parts() : 1;
    if (one.plan != nullptr) {
      refusals().count(Refusal::kSeveralCommunicators);
      record_rewrite(*one.state, *one.plan, false);
    }
    for (uint32_t part = 0; part < parts; ++part) {
      queues[one.state.get()].calls.emplace_back(&one, part);
    }
  }
  ncclResult_t result = ncclSuccess;
  for (bool more = true; more && result == ncclSuccess;) {
    more = false;
    RealCallGuard guard;
    result = group_start.get()();
    for (auto& [state, queue] : queues) {
      if (queue.next < queue.calls.size() && result == ncclSuccess) {
        const auto& [one, part] = queue.calls[queue.next++];
        result = make_call(*one, part);
        more = more || queue.next < queue.calls.size();
      }
    }
    const ncclResult_t ended = group_end.get()();
    result = result == ncclSuccess ? ended : result;
  }
  for (const Deferred& one : deferred) {
    StreamLedger::instance().note_work(one.call.stream);
  }
  return result;
}

// Closes one level of the thread's group; the outermost hands back what was collected.
std::optional<OpenGroup> close_level() {
  if (thread_state().group_depth == 0) {
    return std::nullopt;  // an End without a Start: NCCL has said so
  }
  --thread_state().group_depth;
  record_group(false);
  if (thread_state().group_depth > 0) {
    return std::nullopt;
  }
  return std::exchange(open_group(), {});
}

}  // namespace

void defer_to_group_end(std::shared_ptr<CommunicatorState> state, const CollectiveCall& call,
                        std::shared_ptr<const PlanEntry> plan, RealCall whole) {
  open_group().deferred.push_back({std::move(state), call, std::move(plan), std::move(whole)});
}

bool is_deferring(const CommunicatorState& state) {
  const std::vector<Deferred>& deferred = open_group().deferred;
  return std::any_of(deferred.begin(), deferred.end(),
                     [&](const Deferred& one) { return one.state.get() == &state; });
}

void note_grouped_count(const std::shared_ptr<CommunicatorState>& state) {
  open_group().counted.push_back(state);
}

void note_grouped_work(CUstream stream) { open_group().streams.push_back(stream); }

namespace hooks {

ncclResult_t ncclGroupStart() {
  static RealFunction<decltype(::ncclGroupStart)> real(Library::kNccl, "ncclGroupStart");
  auto* function = real.get();
  if (function == nullptr) {
    return report_missing("ncclGroupStart");
  }
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function();
  }
  if (result == ncclSuccess) {
    ++thread_state().group_depth;
    record_group(true);
  }
  return result;
}

ncclResult_t ncclGroupEnd() {
  static RealFunction<decltype(::ncclGroupEnd)> real(Library::kNccl, "ncclGroupEnd");
  auto* function = real.get();
  if (function == nullptr) {
    return report_missing("ncclGroupEnd");
  }
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function();
  }
  const std::optional<OpenGroup> group = close_level();
  if (!group) {
    return result;
  }
  for (CUstream stream : group->streams) {
    StreamLedger::instance().note_work(stream);
  }
  if (result != ncclSuccess || group->deferred.empty()) {
    return result;
  }
  const GroupStreams streams(group->streams, group->deferred);
  result = streams.tie();
  if (result == ncclSuccess) {
    result = is_one_communicator(group->deferred)
                 ? make_in_order(group->deferred, !streams.are_several())
                 : make_in_rounds(group->deferred);
  }
  const ncclResult_t tied = streams.tie();
  return result == ncclSuccess ? tied : result;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  static RealFunction<decltype(::ncclGroupSimulateEnd)> real(Library::kNccl,
                                                             "ncclGroupSimulateEnd");
  auto* function = real.get();
  if (function == nullptr) {
    return report_missing("ncclGroupSimulateEnd");
  }
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function(simInfo);
  }
  // Nothing was launched, on this rank alone: the collectives of the group have not been made.
  if (const std::optional<OpenGroup> group = close_level()) {
    for (const auto& state : group->counted) {
      state->uncount(1);
    }
  }
  return result;
}

}  // namespace hooks
}  // namespace braid::interposer
