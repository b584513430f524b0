// One device's work in this process: hardware queues, what runs, SM shares, and the thread that
// does it all.
//
// A stream is bound to a hardware queue. A queue is first in, first out over all its streams: its
// head stays there until what it depends on is done (earlier work of its stream, events, values in
// memory) and enough SM shares are free, and meanwhile blocks what is behind it. With one queue
// (CUDA_DEVICE_MAX_CONNECTIONS=1) the issue order is therefore the execution order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "vgpu/core/completion.hpp"
#include "vgpu/core/picker.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

/// A piece of work in a hardware queue, then among those that run.
struct Operation {
  Work work;
  std::function<bool()> gate;  // not empty: the head of the queue waits until it answers true
  std::shared_ptr<Completion> done;
  int priority = 0;  // of its stream; lower is more urgent
  Candidate candidate;
  uint64_t next_poll_ns = 0;
  int polls = 0;
};

class Executor {
 public:
  /// The executor of a device; its thread starts with the first work. Never destroyed.
  static Executor& of(int device);

  /// Appends to a hardware queue.
  void append(int queue, std::unique_ptr<Operation> operation);

  /// Something another executor or a host thread did may have unblocked work here.
  void wake();

  /// Wakes every executor that waits for something outside its own device.
  static void wake_all(const Executor* except = nullptr);

  /// The hardware queue of the next stream. They are dealt out in turn, under the issue mutex.
  int deal_queue() { return static_cast<int>(streams_made_++ % queues_.size()); }

  int shares() const { return total_shares_; }

  CUresult error() const { return static_cast<CUresult>(error_.load(std::memory_order_acquire)); }
  void set_error(CUresult error);

  /// Serialises enqueueing on this device: what is appended under it is in one order for all
  /// streams.
  std::mutex& issue_mutex() { return issue_mutex_; }

 private:
  explicit Executor(int device);
  void run();
  bool is_ready(Operation& operation);
  enum class Round { kRan, kHeldBack, kNothing };
  Round run_once(std::unique_lock<std::mutex>& lock);
  void start(size_t queue);
  void finish(size_t index, std::unique_lock<std::mutex>& lock);
  uint64_t idle_pause_ns(uint64_t now) const;

  const int device_;
  int total_shares_;
  std::mutex issue_mutex_;
  size_t streams_made_ = 0;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<std::deque<std::unique_ptr<Operation>>> queues_;
  std::vector<std::unique_ptr<Operation>> running_;
  int free_shares_;
  uint64_t next_sequence_ = 0;
  uint64_t wake_count_ = 0;
  bool poll_at_once_ = false;  // somebody woke us: what runs may go on now
  int idle_rounds_ = 0;
  bool started_ = false;
  Picker picker_;

  std::atomic<bool> waits_outside_{false};
  std::atomic<int> error_{CUDA_SUCCESS};
};

}  // namespace braid::vgpu
