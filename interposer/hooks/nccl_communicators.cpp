#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "config/diagnostics.hpp"
#include "config/digest.hpp"
#include "config/environment.hpp"
#include "interposer/agreement/coordinator.hpp"
#include "interposer/communicator.hpp"
#include "interposer/driver_api.hpp"
#include "interposer/final_plan.hpp"
#include "interposer/hooks/coverage.hpp"
#include "interposer/hooks/nccl.hpp"
#include "interposer/planner.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"
#include "interposer/recorder.hpp"
#include "interposer/settings.hpp"

namespace braid::interposer {
namespace trace = model::trace;
namespace {

// The reason ncclGetLastError gives for a failure of ours. Leaked: the caller may keep the pointer.
std::atomic<const char*> g_last_error{nullptr};

ncclResult_t fail_with(const std::string& reason) {
  BRAID_WARN(Init, "nccl", "%s", reason.c_str());
  g_last_error.store(strdup(("braid: " + reason).c_str()));
  return ncclInvalidUsage;
}

// Mode auto with a policy, good or broken: then the ranks must speak to each other.
bool takes_part() {
  return config::environment().mode == config::Mode::kAuto &&
         (policy() != nullptr || policy_error().has_value());
}

std::string name_in(const ncclConfig_t* config) {
  // Older programs pass a shorter struct; a field is there only if `size` reaches past it.
  constexpr size_t kEnd = offsetof(ncclConfig_t, commName) + sizeof(config->commName);
  const bool has_name = config != nullptr && config->size >= kEnd && config->commName != nullptr;
  return has_name ? config->commName : "";
}

bool is_nonblocking(const ncclConfig_t* config) {
  // The variable beats the config.
  if (const char* value = std::getenv("NCCL_COMM_BLOCKING")) {
    return std::string(value) == "0";
  }
  constexpr size_t kEnd = offsetof(ncclConfig_t, blocking) + sizeof(config->blocking);
  return config != nullptr && config->size >= kEnd && config->blocking == 0;
}

void record_communicator(const CommunicatorState& state, bool nonblocking) {
  Recorder& recorder = Recorder::instance();
  TraceFile* file = recorder.file_of(state.device);
  if (file == nullptr) {
    return;
  }
  file->set_rank(state.rank, state.n_ranks);
  trace::Communicator record{};
  record.id = state.id;
  record.rank = state.rank;
  record.n_ranks = state.n_ranks;
  record.device = state.device;
  record.hash = state.hash;
  record.name = file->intern(state.name);
  record.flags = nonblocking ? 2 : 0;
  file->append(trace::RecordType::kCommunicator, 0, trace::kNoStream, &record, sizeof(record));
}

std::shared_ptr<CommunicatorState> make_state(int rank, int n_ranks, uint64_t hash,
                                              std::string name) {
  auto state = std::make_shared<CommunicatorState>();
  state->id = CommunicatorRegistry::instance().next_id();
  state->rank = rank;
  state->n_ranks = n_ranks;
  state->device = current_device();
  state->hash = hash;
  state->name = std::move(name);
  return state;
}

void publish(const std::shared_ptr<CommunicatorState>& state, ncclComm_t handle, bool nonblocking) {
  if (handle == nullptr) {
    return;
  }
  state->handle = handle;
  record_communicator(*state, nonblocking);
  CommunicatorRegistry::instance().add(state);
  start_coverage();
}

CheckIn describe_rank(const CommunicatorState& state, bool nonblocking) {
  CheckIn check_in;
  check_in.rank = state.rank;
  check_in.n_ranks = state.n_ranks;
  check_in.library_digest = library_digest();
  check_in.policy_digest = policy() != nullptr ? policy()->digest : 0;
  check_in.settings_digest = settings_digest();
  check_in.process = own_process_digest();
  check_in.nonblocking = nonblocking ? 1 : 0;
  check_in.one_hardware_queue = has_one_hardware_queue() ? 1 : 0;
  check_in.bus_id = bus_id_of(state.device);
  check_in.broken = policy_error() ? policy_error()->text() : "";
  return check_in;
}

// All ranks agreed: from here on the plan is followed.
void become_active(const std::shared_ptr<CommunicatorState>& state, Member member) {
  state->active = true;
  const Token token = member.token();
  state->adopt_member(std::move(member));
  if (config::environment().frozen) {
    state->set_fixed_plan(frozen_plan(*policy(), *state));
    return;
  }
  // The helper thread must not keep a communicator alive that the program has destroyed.
  const std::weak_ptr<CommunicatorState> weak = state;
  Coordinator::instance().add_member(
      token, state->rank, [weak](uint64_t /*from*/, uint64_t /*to*/) {
        const auto alive = weak.lock();
        return alive != nullptr && policy() != nullptr ? plan_range(*policy(), *alive)
                                                       : std::vector<PlanEntry>{};
      });
}

// Undoes the real init of a communicator that must not be used.
void destroy_real(ncclComm_t handle) {
  static RealFunction<decltype(::ncclCommAbort)> real(Library::kNccl, "ncclCommAbort");
  RealCallGuard guard;
  if (auto* function = real.get(); function != nullptr && handle != nullptr) {
    function(handle);
  }
}

template <typename RealCall>
ncclResult_t init_rank(ncclComm_t* comm, int n_ranks, const ncclUniqueId& id, int rank,
                       const ncclConfig_t* config, const RealCall& real_call) {
  const bool grouped = thread_state().group_depth > 0;
  const bool nonblocking = is_nonblocking(config);
  const auto state = make_state(
      rank, n_ranks, config::digest_of(std::string_view(id.internal, sizeof(id.internal))),
      name_in(config));
  if (takes_part() && policy_error() && (grouped || nonblocking || !read_stamp(id))) {
    return fail_with(policy_error()->text());
  }
  Member member;
  if (takes_part() && !grouped) {
    member = Member::check_in(id, describe_rank(*state, nonblocking));
  }
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = real_call();
  }
  const bool began = result == ncclSuccess || result == ncclInProgress;
  if (!takes_part() || grouped || nonblocking) {
    // A nonblocking init returns before all ranks have entered it: it says nothing of them, so no
    // verdict is asked for. The others hear from our check-in that the communicator is nonblocking.
    state->stock_reason = grouped ? Refusal::kGroupedInit : Refusal::kNonblocking;
    if (began && comm != nullptr) {
      publish(state, *comm, nonblocking);
    }
    return result;
  }
  if (result == ncclInProgress) {
    // Nonblocking by a setting we do not read: this rank's report that the init has not succeeded
    // makes the verdict stock.
    state->stock_reason = Refusal::kNonblocking;
  }
  const Verdict verdict = member.hear_verdict(result);
  if (result != ncclSuccess) {
    if (began && comm != nullptr) {
      publish(state, *comm, true);
    }
    return result;
  }
  if (verdict.kind == VerdictKind::kFail || policy_error()) {
    destroy_real(*comm);
    *comm = nullptr;
    return fail_with(verdict.kind == VerdictKind::kFail ? verdict.reason : policy_error()->text());
  }
  if (verdict.kind == VerdictKind::kActive) {
    state->bus_ids = verdict.bus_ids;
    become_active(state, std::move(member));
    BRAID_INFO(Init, "nccl", "communicator of %d ranks follows the policy %s", n_ranks,
               policy()->path.c_str());
  } else {
    state->stock_reason = static_cast<Refusal>(
        std::min<uint32_t>(verdict.refusal, static_cast<uint32_t>(Refusal::kCount) - 1));
    BRAID_WARN(Agreement, "nccl", "communicator of %d ranks runs as stock: %s (%s)", n_ranks,
               name_of(state->stock_reason), verdict.reason.c_str());
  }
  publish(state, *comm, false);
  g_last_error.store(nullptr);
  return result;
}

// Forgets a communicator before the real library does.
void retire(ncclComm_t comm, bool aborted) {
  const auto state = CommunicatorRegistry::instance().remove(comm);
  if (state == nullptr) {
    return;
  }
  if (aborted) {
    state->interrupt();
  }
  // Abort must never wait for us: no farewell, the decider sees that the communicator is gone.
  if (state->active && !aborted) {
    keep_final_plan(*state);
    Coordinator::instance().remove_member(state->token(), state->rank);
  }
  Recorder::instance().record(state->device, trace::RecordType::kCommunicatorEnd, 0,
                              trace::kNoStream,
                              trace::CommunicatorEnd{state->id, aborted ? 1u : 0u});
}

// Split and shrink are called by all ranks of the parent in the same order, so its hash and a count
// name the child alike on all of them.
uint64_t child_hash(CommunicatorState* parent, int color) {
  if (parent == nullptr) {
    return 0;
  }
  config::Digest digest;
  digest.add(parent->hash).add(++parent->children).add(static_cast<uint64_t>(color));
  return digest.value();
}

void publish_child(ncclResult_t result, ncclComm_t* newcomm, uint64_t hash,
                   const ncclConfig_t* config) {
  if (result != ncclSuccess || newcomm == nullptr || *newcomm == nullptr ||
      thread_state().group_depth > 0) {
    return;
  }
  static RealFunction<decltype(::ncclCommCount)> count(Library::kNccl, "ncclCommCount");
  static RealFunction<decltype(::ncclCommUserRank)> user_rank(Library::kNccl, "ncclCommUserRank");
  int n_ranks = 0;
  int rank = 0;
  {
    RealCallGuard guard;
    if (count.get() == nullptr || user_rank.get() == nullptr ||
        count.get()(*newcomm, &n_ranks) != ncclSuccess ||
        user_rank.get()(*newcomm, &rank) != ncclSuccess) {
      return;
    }
  }
  const auto state = make_state(rank, n_ranks, hash, name_in(config));
  state->stock_reason = Refusal::kChildCommunicator;
  publish(state, *newcomm, is_nonblocking(config));
}

}  // namespace

ncclResult_t report_missing(const char* function) {
  BRAID_LOG_ONCE(kWarn, Nccl, "nccl",
                 "%s was called, but libnccl.so.2 is not loaded in this process", function);
  return ncclSystemError;
}

namespace hooks {

#define BRAID_REAL(name)                                             \
  static RealFunction<decltype(::name)> real(Library::kNccl, #name); \
  auto* function = real.get();                                       \
  if (function == nullptr) {                                         \
    return report_missing(#name);                                    \
  }

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  BRAID_REAL(ncclGetUniqueId)
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function(uniqueId);
  }
  // With NCCL_COMM_ID the ids of all ranks are made from the variable, each on its own.
  if (result == ncclSuccess && takes_part() && std::getenv("NCCL_COMM_ID") == nullptr) {
    Coordinator::instance().stamp(uniqueId);
  }
  return result;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  BRAID_REAL(ncclCommInitRank)
  return init_rank(comm, nranks, commId, rank, nullptr,
                   [&] { return function(comm, nranks, commId, rank); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  BRAID_REAL(ncclCommInitRankConfig)
  return init_rank(comm, nranks, commId, rank, config,
                   [&] { return function(comm, nranks, commId, rank, config); });
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config) {
  BRAID_REAL(ncclCommInitRankScalable)
  if (takes_part() && policy_error()) {
    return fail_with(policy_error()->text());
  }
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function(newcomm, nranks, myrank, nId, commIds, config);
  }
  if (result == ncclSuccess || result == ncclInProgress) {
    const auto state = make_state(
        myrank, nranks,
        config::digest_of(std::string_view(commIds[0].internal, sizeof(commIds[0].internal))),
        name_in(config));
    state->stock_reason = Refusal::kGroupedInit;
    publish(state, *newcomm, is_nonblocking(config));
  }
  return result;
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  BRAID_REAL(ncclCommInitAll)
  if (takes_part() && policy_error()) {
    return fail_with(policy_error()->text());
  }
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function(comm, ndev, devlist);
  }
  static std::atomic<uint64_t> calls{0};
  const uint64_t hash = config::Digest().add(own_process_digest()).add(calls.fetch_add(1)).value();
  for (int rank = 0; result == ncclSuccess && rank < ndev; ++rank) {
    const auto state = make_state(rank, ndev, hash, "");
    state->device = devlist != nullptr ? devlist[rank] : rank;
    state->stock_reason = Refusal::kGroupedInit;
    publish(state, comm[rank], false);
  }
  return result;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  BRAID_REAL(ncclCommFinalize)
  RealCallGuard guard;
  return function(comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  BRAID_REAL(ncclCommDestroy)
  retire(comm, false);
  RealCallGuard guard;
  return function(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  BRAID_REAL(ncclCommAbort)
  retire(comm, true);
  RealCallGuard guard;
  return function(comm);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config) {
  BRAID_REAL(ncclCommSplit)
  const auto parent = CommunicatorRegistry::instance().find(comm);
  const uint64_t hash = child_hash(parent.get(), color);
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function(comm, color, key, newcomm, config);
  }
  if (color != NCCL_SPLIT_NOCOLOR) {
    publish_child(result, newcomm, hash, config);
  }
  return result;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags) {
  BRAID_REAL(ncclCommShrink)
  const auto parent = CommunicatorRegistry::instance().find(comm);
  const uint64_t hash = child_hash(parent.get(), 0);
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = function(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags);
  }
  publish_child(result, newcomm, hash, config);
  return result;
}

const char* ncclGetLastError(ncclComm_t comm) {
  if (const char* ours = g_last_error.load()) {
    return ours;
  }
  static RealFunction<decltype(::ncclGetLastError)> real(Library::kNccl, "ncclGetLastError");
  auto* function = real.get();
  RealCallGuard guard;
  return function != nullptr ? function(comm) : "libnccl.so.2 is not loaded in this process";
}

#undef BRAID_REAL

}  // namespace hooks
}  // namespace braid::interposer
