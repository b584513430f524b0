// The end of a piece of device work: a flag that host threads and other work wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

class Completion {
 public:
  bool is_done() const { return done_.load(std::memory_order_acquire); }

  /// Blocks the calling host thread until set. Any number of threads.
  void wait();

  /// Once, by the executor. Wakes those who wait.
  void set();

  /// CLOCK_MONOTONIC when it was set.
  uint64_t time_ns() const { return time_ns_; }

 private:
  std::atomic<bool> done_{false};
  std::atomic<int> waiters_{0};
  uint64_t time_ns_ = 0;  // written before done_
};

}  // namespace braid::vgpu
