// The allocator of one virtual GPU's memory. Its state lies in a session file, so all processes
// allocate from the same heap and can look up each other's allocations.
//
// A process may be killed at any instruction. The truth is the set of live slots: a slot is written
// before it is marked live, and everything else is rebuilt from the slots when the lock's owner
// died.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "vgpu/core/process.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

inline constexpr uint32_t kHeapSlots = 32768;  // allocations a device can hold at once
inline constexpr uint64_t kAllocationAlignment = 512;

struct HeapSlot {
  uint64_t base;
  uint64_t bytes;  // as asked for
  uint64_t id;
  ProcessIdentity owner;
  uint32_t kind;  // MemoryKind
  uint32_t live;
  uint32_t hidden;  // kept by a memory pool: taken, but nobody's memory
};

/// Lies in shared memory.
struct HeapState {
  pthread_mutex_t mutex;
  uint64_t next_id;
  uint64_t used_bytes;  // rounded sizes
  uint32_t count;
  // A permutation of the slots: the first `count` are live in address order, the rest are free.
  uint32_t order[kHeapSlots];
  HeapSlot slots[kHeapSlots];
};

/// Empties a heap that nobody uses.
void initialize_heap(HeapState& state);

/// This process's view of one device's heap. Any thread.
class Heap {
 public:
  Heap(HeapState* state, int device, uint64_t base, uint64_t capacity)
      : state_(state), device_(device), base_(base), capacity_(capacity) {}

  /// The lowest gap that is large enough; memory of processes that are gone is taken back first
  /// when there is none. CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE for zero bytes.
  CUresult allocate(size_t bytes, MemoryKind kind, uint64_t* address);

  /// Frees what starts at `address` and belongs to this process; anything else:
  /// CUDA_ERROR_INVALID_VALUE. `before` sees the allocation while nobody can have reused it.
  CUresult free(uint64_t address, const std::function<void(const Allocation&)>& before);

  /// The allocation that holds `address`; `mine` says whether this process made it.
  std::optional<Allocation> find(uint64_t address, bool* mine);

  /// Gives an allocation of this process a new id, as if freed and allocated again in place. Hidden
  /// memory stays taken but is not found. Answers false for anything else than its first address.
  bool renew(uint64_t address, bool hidden);

  /// Frees the memory of processes that are gone; bytes gained.
  uint64_t reclaim();

  uint64_t free_bytes();
  uint64_t base() const { return base_; }
  uint64_t capacity() const { return capacity_; }
  bool contains(uint64_t address) const { return address - base_ < capacity_; }

 private:
  class Lock;
  uint32_t upper_bound(uint64_t address) const;
  HeapSlot* own_slot(uint64_t address, uint32_t* position) const;
  void remove_at(uint32_t position);
  uint64_t reclaim_locked();
  bool place(uint64_t rounded, uint64_t* address, uint32_t* position) const;

  HeapState* state_;
  int device_;
  uint64_t base_;
  uint64_t capacity_;
};

}  // namespace braid::vgpu
