#include "vgpu/core/heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <vector>

namespace braid::vgpu {
namespace {

uint64_t round_up(uint64_t bytes) {
  return (bytes + kAllocationAlignment - 1) / kAllocationAlignment * kAllocationAlignment;
}

// What a process that died inside the lock may have left half done follows from the live slots.
void rebuild(HeapState& state) {
  std::iota(std::begin(state.order), std::end(state.order), 0u);
  const auto live_end = std::partition(std::begin(state.order), std::end(state.order),
                                       [&](uint32_t slot) { return state.slots[slot].live != 0; });
  std::sort(std::begin(state.order), live_end,
            [&](uint32_t a, uint32_t b) { return state.slots[a].base < state.slots[b].base; });
  state.count = static_cast<uint32_t>(live_end - std::begin(state.order));
  state.used_bytes = 0;
  for (uint32_t i = 0; i < state.count; ++i) {
    state.used_bytes += round_up(state.slots[state.order[i]].bytes);
  }
}

// Gives the pages of a freed block back; the next reader sees zeros, as if fresh.
void return_pages(const HeapSlot& slot) {
  constexpr uint64_t kReturnToSystem = 1 << 20;  // smaller blocks keep their pages
  constexpr uint64_t kPage = 4096;
  if (slot.bytes >= kReturnToSystem) {
    const uint64_t begin = (slot.base + kPage - 1) / kPage * kPage;
    const uint64_t end = (slot.base + slot.bytes) / kPage * kPage;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_REMOVE);
  }
}

void set_live(HeapSlot& slot, bool live) {
  __atomic_store_n(&slot.live, live ? 1u : 0u, __ATOMIC_RELEASE);
}

}  // namespace

void initialize_heap(HeapState& state) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&state.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  for (HeapSlot& slot : state.slots) {
    slot.live = 0;
  }
  state.next_id = 1;
  rebuild(state);
}

class Heap::Lock {
 public:
  explicit Lock(HeapState* state) : state_(state) {
    if (pthread_mutex_lock(&state_->mutex) == EOWNERDEAD) {
      rebuild(*state_);
      pthread_mutex_consistent(&state_->mutex);
    }
  }
  ~Lock() { pthread_mutex_unlock(&state_->mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  HeapState* state_;
};

// Position in `order` of the first live slot that starts behind `address`.
uint32_t Heap::upper_bound(uint64_t address) const {
  const uint32_t* begin = state_->order;
  const uint32_t* end = begin + state_->count;
  return static_cast<uint32_t>(std::upper_bound(begin, end, address,
                                                [&](uint64_t value, uint32_t slot) {
                                                  return value < state_->slots[slot].base;
                                                }) -
                               begin);
}

bool Heap::place(uint64_t rounded, uint64_t* address, uint32_t* position) const {
  uint64_t gap_start = base_;
  for (uint32_t i = 0; i <= state_->count; ++i) {
    const HeapSlot* next = i < state_->count ? &state_->slots[state_->order[i]] : nullptr;
    const uint64_t gap_end = next != nullptr ? next->base : base_ + capacity_;
    if (gap_end - gap_start >= rounded) {
      *address = gap_start;
      *position = i;
      return true;
    }
    if (next != nullptr) {
      gap_start = next->base + round_up(next->bytes);
    }
  }
  return false;
}

CUresult Heap::allocate(size_t bytes, MemoryKind kind, uint64_t* address) {
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (bytes > capacity_) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const uint64_t rounded = round_up(bytes);
  const Lock lock(state_);
  uint32_t position = 0;
  const bool room = state_->count < kHeapSlots && place(rounded, address, &position);
  if (!room) {
    if (reclaim_locked() == 0 || state_->count == kHeapSlots ||
        !place(rounded, address, &position)) {
      if (state_->count == kHeapSlots) {
        report_once("device " + std::to_string(device_) + " holds " + std::to_string(kHeapSlots) +
                    " allocations, the most a virtual GPU keeps");
      }
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  uint32_t* order = state_->order;
  const uint32_t index = order[state_->count];
  HeapSlot& slot = state_->slots[index];
  slot.base = *address;
  slot.bytes = bytes;
  slot.id = state_->next_id++;
  slot.owner = this_process();
  slot.kind = static_cast<uint32_t>(kind);
  slot.hidden = 0;
  set_live(slot, true);
  std::copy_backward(order + position, order + state_->count, order + state_->count + 1);
  order[position] = index;
  ++state_->count;
  state_->used_bytes += rounded;
  return CUDA_SUCCESS;
}

void Heap::remove_at(uint32_t position) {
  uint32_t* order = state_->order;
  const uint32_t index = order[position];
  HeapSlot& slot = state_->slots[index];
  return_pages(slot);
  set_live(slot, false);
  state_->used_bytes -= round_up(slot.bytes);
  std::copy(order + position + 1, order + state_->count, order + position);
  --state_->count;
  order[state_->count] = index;
}

// The slot that starts at `address` and is this process's; nullptr else.
HeapSlot* Heap::own_slot(uint64_t address, uint32_t* position) const {
  const uint32_t after = upper_bound(address);
  if (after == 0) {
    return nullptr;
  }
  HeapSlot& slot = state_->slots[state_->order[after - 1]];
  const ProcessIdentity me = this_process();
  if (slot.base != address || slot.owner.pid != me.pid || slot.owner.start_time != me.start_time) {
    return nullptr;
  }
  *position = after - 1;
  return &slot;
}

CUresult Heap::free(uint64_t address, const std::function<void(const Allocation&)>& before) {
  const Lock lock(state_);
  uint32_t position = 0;
  const HeapSlot* slot = own_slot(address, &position);
  if (slot == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (before) {
    before({slot->base, slot->bytes, device_, static_cast<MemoryKind>(slot->kind), slot->id});
  }
  remove_at(position);
  return CUDA_SUCCESS;
}

bool Heap::renew(uint64_t address, bool hidden) {
  const Lock lock(state_);
  uint32_t position = 0;
  HeapSlot* slot = own_slot(address, &position);
  if (slot == nullptr) {
    return false;
  }
  slot->id = state_->next_id++;
  slot->hidden = hidden ? 1 : 0;
  return true;
}

std::optional<Allocation> Heap::find(uint64_t address, bool* mine) {
  const Lock lock(state_);
  const uint32_t after = upper_bound(address);
  if (after == 0) {
    return std::nullopt;
  }
  const HeapSlot& slot = state_->slots[state_->order[after - 1]];
  if (address - slot.base >= slot.bytes || slot.hidden != 0) {
    return std::nullopt;
  }
  const ProcessIdentity me = this_process();
  *mine = slot.owner.pid == me.pid && slot.owner.start_time == me.start_time;
  return Allocation{slot.base, slot.bytes, device_, static_cast<MemoryKind>(slot.kind), slot.id};
}

uint64_t Heap::reclaim_locked() {
  uint64_t gained = 0;
  std::vector<std::pair<int32_t, bool>> known;  // pid → alive, asked once each
  for (uint32_t i = state_->count; i-- > 0;) {
    const HeapSlot& slot = state_->slots[state_->order[i]];
    auto entry = std::find_if(known.begin(), known.end(),
                              [&](const auto& k) { return k.first == slot.owner.pid; });
    if (entry == known.end()) {
      known.emplace_back(slot.owner.pid, is_alive(slot.owner));
      entry = known.end() - 1;
    }
    if (!entry->second) {
      gained += round_up(slot.bytes);
      remove_at(i);
    }
  }
  return gained;
}

uint64_t Heap::reclaim() {
  const Lock lock(state_);
  return reclaim_locked();
}

uint64_t Heap::free_bytes() {
  const Lock lock(state_);
  reclaim_locked();
  return capacity_ - std::min(capacity_, state_->used_bytes);
}

}  // namespace braid::vgpu
