#include "vgpu/nccl/shared_communicator.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/nccl/log.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr int kSlots = 4096;
constexpr int kSpinsBeforeCheck = 4096;

enum class SlotState : uint32_t { kFree, kForming, kFormed };

/// A slot's entry in the table all processes share. Guarded by the table's lock.
struct SlotEntry {
  SlotState state;
  int32_t ranks;
  int32_t joined;
  int32_t holders;
  CommunicatorKey key;
};

struct SlotTable {
  std::atomic<uint64_t> lock;  // 0, or the holder: pid (low half) and low bits of its start time
  uint64_t generations;
  std::array<SlotEntry, kSlots> slots;
};

/// A lock in shared memory that survives the death of its holder. The table is consistent at every
/// point where a holder can die, short of one slot that is lost until the session ends.
class TableLock {
 public:
  explicit TableLock(SlotTable& table) : table_(table) {
    const ProcessIdentity self = this_process();
    mine_ = (self.start_ticks << 32) | static_cast<uint32_t>(self.pid);
    for (int spins = 1;; ++spins) {
      uint64_t expected = 0;
      if (table_.lock.compare_exchange_weak(expected, mine_, std::memory_order_acquire)) {
        return;
      }
      if (spins % kSpinsBeforeCheck == 0 && expected != 0 && !holder_lives(expected) &&
          table_.lock.compare_exchange_strong(expected, mine_, std::memory_order_acquire)) {
        return;
      }
      sched_yield();
    }
  }
  ~TableLock() { table_.lock.store(0, std::memory_order_release); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  static bool holder_lives(uint64_t holder) {
    const uint64_t start = find_start_ticks(static_cast<int32_t>(holder & 0xffffffffu));
    return start != 0 && static_cast<uint32_t>(start) == holder >> 32;
  }

  SlotTable& table_;
  uint64_t mine_ = 0;
};

/// This process's view of the shared memory: the table, and slots as they are first used.
struct Mappings {
  std::mutex mutex;
  SlotTable* table = nullptr;
  std::array<SharedCommunicator*, kSlots> slots{};
};

Mappings& mappings() {
  static Mappings* const known = new Mappings;
  return *known;
}

ncclResult_t map_region(const std::string& name, size_t bytes, void** address) {
  const auto region = shared_region(name, bytes);
  if (!region) {
    return reject(ncclSystemError, "Shared memory of the virtual box is not available: %s",
                  region.error().text().c_str());
  }
  *address = *region;
  return ncclSuccess;
}

ncclResult_t map_table(SlotTable** table) {
  Mappings& known = mappings();
  std::lock_guard lock(known.mutex);
  if (known.table == nullptr) {
    void* address = nullptr;
    BRAID_NCCL_TRY(map_region("nccl", sizeof(SlotTable), &address));
    known.table = static_cast<SlotTable*>(address);
  }
  *table = known.table;
  return ncclSuccess;
}

ncclResult_t map_slot(int index, SharedCommunicator** slot) {
  Mappings& known = mappings();
  std::lock_guard lock(known.mutex);
  SharedCommunicator*& mapped = known.slots[static_cast<size_t>(index)];
  if (mapped == nullptr) {
    void* address = nullptr;
    BRAID_NCCL_TRY(map_region("nccl-communicator-" + std::to_string(index),
                              sizeof(SharedCommunicator), &address));
    mapped = static_cast<SharedCommunicator*>(address);
  }
  *slot = mapped;
  return ncclSuccess;
}

/// Makes a slot as new. Only the part that `ranks` ranks use is touched.
void reset(SharedCommunicator& shared, int ranks, uint64_t generation) {
  shared.generation = generation;
  shared.ranks = ranks;
  shared.joined.store(0);
  shared.arrivals.store(0);
  shared.completed.store(0);
  shared.touching.store(0);
  shared.failure.state.store(0);
  for (int rank = 0; rank < ranks; ++rank) {
    Seat& seat = shared.seats[static_cast<size_t>(rank)];
    seat.presence.store(Presence::kAbsent);
    seat.holding.store(false);
    seat.exchanges.store(0);
  }
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      Mailbox& box = shared.mailbox(from, to);
      box.posted.store(0);
      box.completed.store(0);
    }
  }
}

/// True when nobody who lives still holds the slot: its processes were killed.
bool is_abandoned(int index, const SlotEntry& entry) {
  SharedCommunicator* shared = nullptr;
  if (entry.state == SlotState::kFree || map_slot(index, &shared) != ncclSuccess) {
    return false;
  }
  for (int rank = 0; rank < entry.ranks; ++rank) {
    const Seat& seat = shared->seats[static_cast<size_t>(rank)];
    if (seat.holding.load() && is_alive(seat.process)) {
      return false;
    }
  }
  return true;
}

/// Also frees a slot of this key whose processes are gone: ids made from NCCL_COMM_ID repeat.
int find_forming(SlotTable& table, const CommunicatorKey& key) {
  for (int i = 0; i < kSlots; ++i) {
    SlotEntry& entry = table.slots[static_cast<size_t>(i)];
    if (entry.state == SlotState::kForming && entry.key == key) {
      if (!is_abandoned(i, entry)) {
        return i;
      }
      entry.state = SlotState::kFree;
    }
  }
  return -1;
}

int find_free(SlotTable& table) {
  for (int i = 0; i < kSlots; ++i) {
    if (table.slots[static_cast<size_t>(i)].state == SlotState::kFree) {
      return i;
    }
  }
  int found = -1;
  for (int i = 0; i < kSlots; ++i) {
    SlotEntry& entry = table.slots[static_cast<size_t>(i)];
    if (is_abandoned(i, entry)) {
      entry.state = SlotState::kFree;
      found = i;
    }
  }
  return found;
}

}  // namespace

ncclResult_t join(const CommunicatorKey& key, int ranks, int rank, int device,
                  SlotReference* reference) {
  if (ranks > kMaxRanks) {
    return reject(ncclInvalidArgument,
                  "A communicator of %d ranks was asked for; the virtual box allows %d.", ranks,
                  kMaxRanks);
  }
  SlotTable* table = nullptr;
  BRAID_NCCL_TRY(map_table(&table));
  TableLock lock(*table);
  int index = find_forming(*table, key);
  const bool first = index < 0;
  if (first) {
    index = find_free(*table);
    if (index < 0) {
      return reject(ncclSystemError, "More than %d communicators are alive on the virtual box.",
                    kSlots);
    }
  }
  SharedCommunicator* shared = nullptr;
  BRAID_NCCL_TRY(map_slot(index, &shared));
  SlotEntry& entry = table->slots[static_cast<size_t>(index)];
  if (first) {
    reset(*shared, ranks, ++table->generations);
    entry = {SlotState::kForming, ranks, 0, 0, key};
  }
  if (entry.ranks != ranks) {
    return reject(ncclInvalidUsage,
                  "Rank %d initialises a communicator of %d ranks; others said %d for the same id.",
                  rank, ranks, entry.ranks);
  }
  Seat& seat = shared->seats[static_cast<size_t>(rank)];
  if (seat.presence.load() != Presence::kAbsent) {
    return reject(ncclInvalidUsage, "Rank %d of %d ranks has already checked in.", rank, ranks);
  }
  seat.process = this_process();
  seat.device = device;
  seat.holding.store(true);
  seat.presence.store(Presence::kJoined, std::memory_order_release);
  ++entry.holders;
  if (++entry.joined == ranks) {
    entry.state = SlotState::kFormed;
  }
  shared->joined.fetch_add(1, std::memory_order_acq_rel);
  *reference = {shared, index};
  return ncclSuccess;
}

void leave(const SlotReference& reference, int rank, Presence presence) {
  SlotTable* table = nullptr;
  if (reference.shared == nullptr || map_table(&table) != ncclSuccess) {
    return;
  }
  TableLock lock(*table);
  Seat& seat = reference.shared->seats[static_cast<size_t>(rank)];
  seat.presence.store(presence, std::memory_order_release);
  seat.holding.store(false);
  SlotEntry& entry = table->slots[static_cast<size_t>(reference.index)];
  if (--entry.holders == 0) {
    entry.state = SlotState::kFree;
  }
}

void record_failure(SharedCommunicator& shared, int origin, ncclResult_t code_at_origin,
                    ncclResult_t code_elsewhere, const std::string& text) {
  SharedFailure& failure = shared.failure;
  uint32_t none = 0;
  if (!failure.state.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) {
    return;
  }
  failure.origin = origin;
  failure.code_at_origin = code_at_origin;
  failure.code_elsewhere = code_elsewhere;
  const size_t bytes = std::min(text.size(), sizeof(failure.text) - 1);
  std::memcpy(failure.text, text.data(), bytes);
  failure.text[bytes] = '\0';
  failure.state.store(2, std::memory_order_seq_cst);
}

ncclResult_t read_failure(const SharedCommunicator& shared, int rank, std::string* text) {
  const SharedFailure& failure = shared.failure;
  if (failure.state.load(std::memory_order_seq_cst) != 2) {
    return ncclSuccess;
  }
  if (text != nullptr) {
    *text = failure.text;
  }
  return static_cast<ncclResult_t>(rank == failure.origin ? failure.code_at_origin
                                                          : failure.code_elsewhere);
}

}  // namespace braid::vgpu::nccl
