#include "vgpu/nccl/lifecycle.hpp"

#include <thread>

#include "vgpu/nccl/group.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/tuner.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr auto kPause = std::chrono::microseconds(100);

/// Waits for the thread that carries out the last nonblocking call.
void join_background(Communicator& communicator) {
  std::shared_ptr<BackgroundJob> job;
  {
    std::lock_guard lock(communicator.mutex);
    job = communicator.background;
  }
  if (job != nullptr) {
    job->join();
  }
}

/// Everything enqueued has completed, well or with the communicator's error.
void drain(Communicator& communicator) {
  while (communicator.pending_launches.load() > 0) {
    std::this_thread::sleep_for(kPause);
  }
}

/// While a rank reads or writes this rank's buffers they must stay. A rank killed in the middle of
/// that never says that it is done.
void wait_until_untouched(SharedCommunicator& shared) {
  while (shared.touching.load(std::memory_order_seq_cst) > 0) {
    for (int rank = 0; rank < shared.ranks; ++rank) {
      const Seat& seat = shared.seats[static_cast<size_t>(rank)];
      if (seat.holding.load() && !is_alive(seat.process)) {
        return;
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

void release(const CommunicatorRef& communicator, Presence presence) {
  {
    std::lock_guard lock(communicator->step_mutex);
    communicator->aborted = true;  // a late step finds nothing to do
    communicator->tuner.reset();
    communicator->profiler.reset();
  }
  leave(std::exchange(communicator->slot, {}), communicator->rank, presence);
}

ncclResult_t run_finalize(Communicator& communicator) {
  drain(communicator);
  const ncclResult_t state = communicator.async_result.load();
  return state == ncclInProgress ? ncclSuccess : state;
}

}  // namespace

void stop_operations(Communicator& communicator) {
  if (communicator.slot.shared == nullptr) {
    return;
  }
  SharedCommunicator& shared = communicator.shared();
  Seat& seat = shared.seats[static_cast<size_t>(communicator.rank)];
  communicator.revoked = true;
  { std::lock_guard lock(communicator.step_mutex); }  // the step that runs now ends
  seat.presence.store(Presence::kRevoked, std::memory_order_seq_cst);
  wait_until_untouched(shared);
}

ncclResult_t finalize(ncclComm_t handle) {
  CommunicatorRef communicator;
  BRAID_NCCL_TRY(find_communicator(handle, "ncclCommFinalize", &communicator));
  if (communicator->revoked || communicator->finalized.exchange(true)) {
    return reject(ncclInvalidUsage, "ncclCommFinalize : comm %p was already finalized or revoked",
                  static_cast<void*>(handle));
  }
  return submit_job({[communicator] { return run_finalize(*communicator); },
                     {communicator},
                     communicator->device});
}

ncclResult_t destroy(ncclComm_t handle) {
  if (handle == nullptr) {
    return ncclSuccess;
  }
  CommunicatorRef communicator;
  BRAID_NCCL_TRY(find_communicator(handle, "ncclCommDestroy", &communicator));
  remove_communicator(communicator);
  join_background(*communicator);
  drain(*communicator);
  release(communicator, Presence::kLeft);
  BRAID_NCCL_INFO(abi::kLogInit, "comm %p rank %d nranks %d - Destroy COMPLETE",
                  static_cast<void*>(handle), communicator->rank, communicator->ranks);
  return ncclSuccess;
}

ncclResult_t abort(ncclComm_t handle) {
  if (handle == nullptr) {
    return ncclSuccess;
  }
  CommunicatorRef communicator;
  BRAID_NCCL_TRY(find_communicator(handle, "ncclCommAbort", &communicator));
  remove_communicator(communicator);
  communicator->aborted = true;  // waiting threads and steps see it
  join_background(*communicator);
  while (communicator->callers.load() > 0) {
    std::this_thread::sleep_for(kPause);
  }
  if (communicator->slot.shared != nullptr) {
    Seat& seat = communicator->shared().seats[static_cast<size_t>(communicator->rank)];
    { std::lock_guard lock(communicator->step_mutex); }
    seat.presence.store(Presence::kAborted, std::memory_order_seq_cst);
    wait_until_untouched(communicator->shared());
  }
  release(communicator, Presence::kAborted);
  BRAID_NCCL_INFO(abi::kLogInit, "comm %p rank %d nranks %d - Abort COMPLETE",
                  static_cast<void*>(handle), communicator->rank, communicator->ranks);
  return ncclSuccess;
}

ncclResult_t revoke(ncclComm_t handle, int flags) {
  CommunicatorRef communicator;
  BRAID_NCCL_TRY(find_communicator(handle, "ncclCommRevoke", &communicator));
  if (flags != NCCL_REVOKE_DEFAULT) {
    return reject(ncclInvalidArgument, "ncclCommRevoke : revokeFlags %d (expected 0)", flags);
  }
  if (communicator->finalized || communicator->revoked) {
    return reject(ncclInvalidUsage, "ncclCommRevoke : comm %p was already finalized or revoked",
                  static_cast<void*>(handle));
  }
  join_background(*communicator);
  stop_operations(*communicator);
  communicator->async_result = ncclSuccess;
  return ncclSuccess;
}

}  // namespace braid::vgpu::nccl
