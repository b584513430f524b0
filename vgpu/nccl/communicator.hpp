// A rank's communicator: what ncclComm_t points at.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "model/stock_nccl.hpp"
#include "vgpu/core/vgpu.hpp"
#include "vgpu/nccl/communicator_config.hpp"
#include "vgpu/nccl/reduction.hpp"
#include "vgpu/nccl/shared_communicator.hpp"

namespace braid::vgpu::nccl {

class TunerSession;
class ProfilerSession;

/// A reduction operator made by ncclRedOpCreatePreMulSum.
struct UserOperator {
  ncclDataType_t datatype = ncclFloat32;
  uint64_t scalar = 0;            // the value, or
  const void* address = nullptr;  // where it is read while the collective runs
};

/// A thread that carries out what a nonblocking call left to do.
class BackgroundJob {
 public:
  explicit BackgroundJob(std::function<void()> work) : thread_(std::move(work)) {}
  ~BackgroundJob() { join(); }
  BackgroundJob(const BackgroundJob&) = delete;
  BackgroundJob& operator=(const BackgroundJob&) = delete;
  /// Waits for the end; any number of threads, any number of times.
  void join();

 private:
  std::mutex mutex_;
  std::thread thread_;
};

/// Fields without a remark are fixed once initialisation has finished.
struct Communicator : std::enable_shared_from_this<Communicator> {
  Communicator();
  ~Communicator();

  int rank = 0;
  int ranks = 0;
  int device = 0;
  CommunicatorKey key;
  CommunicatorConfig config;

  SlotReference slot;
  model::StockPlan plan;
  uint64_t plan_digest = 0;
  uint64_t id = 0;        // what tuner and profiler call the communicator
  int channel_limit = 0;  // 0: none; a child that shares resources has no more than its parent
  std::unique_ptr<TunerSession> tuner;
  std::unique_ptr<ProfilerSession> profiler;

  /// What ncclCommGetAsyncError answers. ncclInProgress while a nonblocking call runs; an error
  /// stays.
  std::atomic<ncclResult_t> async_result{ncclSuccess};
  std::atomic<bool> aborted{false};
  std::atomic<bool> revoked{false};
  std::atomic<bool> finalized{false};
  std::atomic<int> pending_launches{0};
  std::atomic<int> callers{0};  // threads inside a blocking part of a call

  /// Held while a step of this communicator's work runs on the executor.
  std::mutex step_mutex;
  uint64_t exchanges = 0;                // so far; init and split threads, one at a time
  uint64_t splits = 0;                   // so far; as above
  uint64_t collectives = 0;              // carried out so far; under step_mutex
  std::vector<uint64_t> sent, received;  // messages posted to and from each rank; under step_mutex
  std::chrono::steady_clock::time_point next_liveness_check{};  // under step_mutex

  std::mutex launch_mutex;  // guards last_launch; held while a launch is handed to the device
  WorkHandle last_launch;

  std::mutex mutex;          // guards all below
  std::string failure_text;  // why async_result is an error
  uint64_t enqueued_collectives = 0;
  std::map<int, UserOperator> operators;
  uint64_t next_registration = 0;
  std::map<void*, size_t> registrations;  // by handle
  std::map<uint64_t, uint64_t> shrinks;   // how often, by the set of excluded ranks
  std::shared_ptr<BackgroundJob> background;

  SharedCommunicator& shared() const { return *slot.shared; }
  bool is_stopped() const;
};
using CommunicatorRef = std::shared_ptr<Communicator>;

/// Marks that the calling thread uses the communicator in a blocking call; ncclCommAbort waits for
/// it.
class CallerScope {
 public:
  explicit CallerScope(Communicator& communicator) : communicator_(communicator) {
    communicator_.callers.fetch_add(1);
  }
  ~CallerScope() { communicator_.callers.fetch_sub(1); }
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  Communicator& communicator_;
};

/// The handle a program holds.
inline ncclComm_t handle_of(const CommunicatorRef& communicator) {
  return reinterpret_cast<ncclComm_t>(communicator.get());
}

/// Live communicators. Handles that were destroyed, or never were one, are told apart.
void add_communicator(const CommunicatorRef& communicator);
void remove_communicator(const CommunicatorRef& communicator);
/// ncclInvalidArgument, with a message that names `function`, for null and unknown handles.
ncclResult_t find_communicator(ncclComm_t handle, const char* function, CommunicatorRef* found);
/// Also refuses a communicator whose last call is still in progress or that has failed.
ncclResult_t find_ready_communicator(ncclComm_t handle, const char* function,
                                     CommunicatorRef* found);

/// Makes `code_here` this rank's asynchronous error and tells the other ranks `code_elsewhere`.
void fail(Communicator& communicator, ncclResult_t code_here, ncclResult_t code_elsewhere,
          const std::string& text);

/// Why an operation that needs other ranks can no longer complete.
struct Failure {
  ncclResult_t code = ncclSuccess;
  std::string text;
};

/// A failure some rank recorded; or one of the `needed` ranks (null: all) gave up its seat, or its
/// process died. The latter two are looked for every so often. The caller checks once more that
/// what it waits for has not come about before it calls adopt_failure. Under step_mutex.
std::optional<Failure> detect_failure(Communicator& communicator,
                                      const std::vector<int>* needed = nullptr);
/// Makes it the asynchronous error and tells the other ranks.
void adopt_failure(Communicator& communicator, const Failure& failure);

/// Blocks until `done`. Ends early with an error when the communicator fails or is aborted.
ncclResult_t wait_until(Communicator& communicator, const std::function<bool()>& done);

/// Every rank contributes `bytes` (at most kExchangeBytes) and gets all contributions in rank
/// order.
ncclResult_t exchange(Communicator& communicator, const void* mine, size_t bytes, void* all);

}  // namespace braid::vgpu::nccl
