#include "interposer/hooks/nccl_groups.hpp"

#include <pthread.h>

#include <utility>
#include <vector>

#include "interposer/driver_api.hpp"
#include "interposer/execute/producer.hpp"
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
  std::shared_ptr<const PlanEntry> plan;
};

struct OpenGroup {
  std::vector<Deferred> deferred;
  std::vector<CUstream> streams;
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

void defer_to_group_end(std::shared_ptr<CommunicatorState> state, const CollectiveCall& call,
                        std::shared_ptr<const PlanEntry> plan) {
  open_group().deferred.push_back({std::move(state), call, std::move(plan)});
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
  if (thread_state().group_depth == 0) {
    return result;  // an End without a Start: NCCL has said so
  }
  --thread_state().group_depth;
  record_group(false);
  if (thread_state().group_depth > 0) {
    return result;
  }
  OpenGroup group = std::exchange(open_group(), {});
  for (CUstream stream : group.streams) {
    StreamLedger::instance().note_work(stream);
  }
  for (const Deferred& deferred : group.deferred) {
    if (result != ncclSuccess) {
      break;
    }
    result = execute_in_parts(*deferred.state, deferred.call, *deferred.plan);
    StreamLedger::instance().note_work(deferred.call.stream);
  }
  return result;
}

}  // namespace hooks
}  // namespace braid::interposer
