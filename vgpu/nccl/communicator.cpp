#include "vgpu/nccl/communicator.hpp"

#include <cstring>
#include <unordered_map>

#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/tuner.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr auto kLivenessPeriod = std::chrono::milliseconds(20);
constexpr auto kFirstPause = std::chrono::microseconds(20);
constexpr auto kLongestPause = std::chrono::microseconds(500);

struct Registry {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, CommunicatorRef> live;
};

/// Never destroyed: programs may end with communicators alive.
Registry& registry() {
  static Registry* const known = new Registry;
  return *known;
}

bool is_error(ncclResult_t result) { return result != ncclSuccess && result != ncclInProgress; }

/// Keeps the first error and its text. False when there was one already.
bool set_error(Communicator& communicator, ncclResult_t code, const std::string& text) {
  std::lock_guard lock(communicator.mutex);
  ncclResult_t seen = communicator.async_result.load();
  if (is_error(seen)) {
    return false;
  }
  communicator.failure_text = text;
  while (!communicator.async_result.compare_exchange_weak(seen, code)) {
  }
  return true;
}

/// A rank that gave up its seat can never take part again.
const char* describe_absence(Presence presence) {
  switch (presence) {
    case Presence::kLeft:
      return "has destroyed the communicator";
    case Presence::kAborted:
      return "has aborted the communicator";
    case Presence::kRevoked:
      return "has revoked the communicator";
    default:
      return nullptr;
  }
}

}  // namespace

Communicator::Communicator() = default;
Communicator::~Communicator() = default;

void BackgroundJob::join() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    return;
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // the job's own thread dropped the last reference
  } else {
    thread_.join();
  }
}

bool Communicator::is_stopped() const {
  return aborted.load() || revoked.load() || is_error(async_result.load());
}

void add_communicator(const CommunicatorRef& communicator) {
  std::lock_guard lock(registry().mutex);
  registry().live.emplace(handle_of(communicator), communicator);
}

void remove_communicator(const CommunicatorRef& communicator) {
  std::lock_guard lock(registry().mutex);
  registry().live.erase(handle_of(communicator));
}

ncclResult_t find_communicator(ncclComm_t handle, const char* function, CommunicatorRef* found) {
  if (handle == nullptr) {
    return reject(ncclInvalidArgument, "%s : comm argument is NULL", function);
  }
  std::lock_guard lock(registry().mutex);
  const auto entry = registry().live.find(handle);
  if (entry == registry().live.end()) {
    return reject(ncclInvalidArgument,
                  "%s : corrupted comm object detected: %p is no communicator, or a destroyed one",
                  function, static_cast<void*>(handle));
  }
  *found = entry->second;
  return ncclSuccess;
}

ncclResult_t find_ready_communicator(ncclComm_t handle, const char* function,
                                     CommunicatorRef* found) {
  BRAID_NCCL_TRY(find_communicator(handle, function, found));
  Communicator& communicator = **found;
  if (communicator.revoked) {
    return reject(ncclInvalidUsage, "%s : comm %p was revoked", function,
                  static_cast<void*>(handle));
  }
  if (communicator.finalized) {
    return reject(ncclInvalidUsage, "%s : comm %p was finalized", function,
                  static_cast<void*>(handle));
  }
  // Through the exported name, as NCCL does: an interposer sees the question.
  ncclResult_t state = ncclInternalError;
  BRAID_NCCL_TRY(ncclCommGetAsyncError(handle, &state));
  if (state == ncclSuccess) {
    return ncclSuccess;
  }
  std::lock_guard lock(communicator.mutex);
  return reject(state == ncclInProgress ? ncclInvalidArgument : state,
                "%s : Attempt to use communicator before the previous operation returned "
                "ncclSuccess%s%s",
                function, communicator.failure_text.empty() ? "" : "; it failed: ",
                communicator.failure_text.c_str());
}

void fail(Communicator& communicator, ncclResult_t code_here, ncclResult_t code_elsewhere,
          const std::string& text) {
  if (communicator.slot.shared != nullptr) {
    record_failure(communicator.shared(), communicator.rank, code_here, code_elsewhere, text);
  }
  if (set_error(communicator, code_here, text)) {
    write_log(abi::kLogWarn, abi::kLogAll, __FILE__, __LINE__, "comm %p rank %d: %s",
              static_cast<void*>(&communicator), communicator.rank, text.c_str());
  }
}

std::optional<Failure> detect_failure(Communicator& communicator, const std::vector<int>* needed) {
  Failure failure;
  const SharedCommunicator& shared = communicator.shared();
  failure.code = read_failure(shared, communicator.rank, &failure.text);
  if (failure.code != ncclSuccess) {
    return failure;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < communicator.next_liveness_check) {
    return std::nullopt;
  }
  communicator.next_liveness_check = now + kLivenessPeriod;
  const auto ranks = static_cast<int>(needed != nullptr ? needed->size() : size_t(shared.ranks));
  for (int i = 0; i < ranks; ++i) {
    const int rank = needed != nullptr ? (*needed)[static_cast<size_t>(i)] : i;
    const Seat& seat = shared.seats[static_cast<size_t>(rank)];
    const Presence presence = seat.presence.load(std::memory_order_acquire);
    if (const char* absence = describe_absence(presence)) {
      return Failure{ncclRemoteError,
                     "rank " + std::to_string(rank) + " " + absence + " while others wait for it"};
    }
    if (presence == Presence::kJoined && seat.process != this_process() &&
        !is_alive(seat.process)) {
      return Failure{ncclRemoteError, "the process of rank " + std::to_string(rank) + " (pid " +
                                          std::to_string(seat.process.pid) + ") has ended"};
    }
  }
  return std::nullopt;
}

void adopt_failure(Communicator& communicator, const Failure& failure) {
  fail(communicator, failure.code, ncclRemoteError, failure.text);
}

ncclResult_t wait_until(Communicator& communicator, const std::function<bool()>& done) {
  auto pause = kFirstPause;
  while (!done()) {
    if (communicator.aborted) {
      return ncclSystemError;
    }
    {
      std::lock_guard lock(communicator.step_mutex);
      const auto failure = detect_failure(communicator);
      if (failure && !done()) {
        adopt_failure(communicator, *failure);
        return communicator.async_result.load();
      }
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return ncclSuccess;
}

ncclResult_t exchange(Communicator& communicator, const void* mine, size_t bytes, void* all) {
  SharedCommunicator& shared = communicator.shared();
  const uint64_t number = ++communicator.exchanges;
  const size_t side = number % 2;  // a rank cannot be two exchanges ahead of another
  Seat& seat = shared.seats[static_cast<size_t>(communicator.rank)];
  std::memcpy(seat.exchange[side].data(), mine, bytes);
  seat.exchanges.store(number, std::memory_order_release);
  for (int rank = 0; rank < communicator.ranks; ++rank) {
    const Seat& other = shared.seats[static_cast<size_t>(rank)];
    BRAID_NCCL_TRY(wait_until(
        communicator, [&] { return other.exchanges.load(std::memory_order_acquire) >= number; }));
    std::memcpy(static_cast<std::byte*>(all) + static_cast<size_t>(rank) * bytes,
                other.exchange[side].data(), bytes);
  }
  return ncclSuccess;
}

}  // namespace braid::vgpu::nccl
