// The SMs of one GPU, shared by kernels and collectives.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cost/compute.hpp"
#include "model/simulator/streams.hpp"

namespace braid::model {

/// What happened on an SmPool up to a point in time.
struct PoolChanges {
  std::vector<TaskId> started;   // kernels that got their first SM
  std::vector<TaskId> finished;  // kernels that ended
  std::vector<TaskId> granted;   // collectives that now hold their SMs
};

/// Kernels and collectives in the order the hardware places their blocks: by stream priority, then
/// by arrival. A collective holds one SM a channel from its grant to its release, whether or not
/// its peers have come (it spins). A kernel takes what is left; when that changes, it goes on at
/// the rate the new number of SMs gives (its waves are counted anew). A collective that finds no
/// free SMs gets them at the next wave boundary of kernels of lower priority, and from others only
/// as they run out of blocks. Between kernels, priority acts at once: a wave is short against what
/// it delays.
class SmPool {
 public:
  /// `compute_factor` stretches kernels; `contention_factor` stretches them further while a
  /// collective holds SMs.
  SmPool(int sms, double compute_factor, double contention_factor);

  void add_kernel(double now_us, TaskId task, const ComputeCost& cost, int priority);
  void add_collective(double now_us, TaskId task, int channels, int priority);
  void release_collective(double now_us, TaskId task);

  /// When the pool next has something to report if nothing is added; infinity: never.
  double next_us() const;
  /// Advances to `now_us` and reports.
  PoolChanges update(double now_us);

 private:
  struct Entry {
    TaskId task = kNoTask;
    int priority = 0;
    uint64_t arrival = 0;
    bool collective = false;
    int channels = 0;      // of a collective
    bool holds = false;    // a collective that has its SMs
    ComputeCost cost;      // of a kernel
    double remaining = 1;  // fraction of a kernel
    int sms = 0;           // a kernel has now
    bool started = false;
    double rate = 0;  // fraction a µs
  };

  void insert(Entry entry);
  void advance(double now_us);
  void allocate();
  bool grant_waiting();
  int reclaimable(const Entry& kernel, const Entry& collective) const;
  double boundary_us(const Entry& kernel, const Entry& collective) const;

  int sms_;
  double compute_factor_, contention_factor_;
  std::vector<Entry> entries_;  // in placing order
  double now_us_ = 0;
  uint64_t arrivals_ = 0;
  PoolChanges changes_;
};

}  // namespace braid::model
