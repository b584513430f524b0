// What the ranks of a communicator share: one slot of session memory per communicator.
//
// Ranks are threads or processes; everything they tell each other goes through this memory, by
// atomics. A slot is found by the communicator's key while it is forming, and used again after the
// last rank has left, so creating and destroying communicators does not grow the session.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "vgpu/nccl/process_identity.hpp"

namespace braid::vgpu::nccl {

inline constexpr int kMaxRanks = 64;
inline constexpr size_t kExchangeBytes = 64;

/// Identity of a communicator under construction: its unique id's own bytes, or for a child a hash
/// of the parent's generation, the number of the split and the colour.
struct CommunicatorKey {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const CommunicatorKey&) const = default;
};

/// A collective as one rank posted it. Everything up to `plan` must be equal on all ranks.
struct PostedCollective {
  int32_t function = 0;  // abi::Function
  int32_t datatype = 0;
  int32_t operation = 0;  // ReductionKind
  int32_t root = 0;
  uint64_t count = 0;
  int32_t algorithm = 0;
  int32_t protocol = 0;
  int32_t channels = 0;
  uint64_t plan = 0;  // digest of rings and chains
  uint64_t send = 0;
  uint64_t receive = 0;
  uint64_t scalar = 0;  // pre-multiplier's bytes in the datatype
};

enum class Presence : uint32_t { kAbsent, kJoined, kLeft, kAborted, kRevoked };

/// One rank's seat. Written by that rank only.
struct Seat {
  std::atomic<Presence> presence;
  std::atomic<bool> holding;  // from join to leave
  ProcessIdentity process;
  int32_t device;
  std::atomic<uint64_t> exchanges;  // how many it has posted
  std::array<std::array<std::byte, kExchangeBytes>, 2> exchange;
  PostedCollective posted;
};

/// The meeting point of the k-th send from one rank to another with the k-th receive.
struct Mailbox {
  std::atomic<uint64_t> posted;     // sides posted so far: 2k+1 or 2k+2 while the k-th meets
  std::atomic<uint64_t> completed;  // messages delivered
  uint64_t send, send_bytes;
  uint64_t receive, receive_bytes;
};

/// A failure all ranks hear of. The first one is kept.
struct SharedFailure {
  std::atomic<uint32_t> state;  // 0: none, 1: being written, 2: complete
  int32_t origin;               // rank
  int32_t code_at_origin;       // ncclResult_t
  int32_t code_elsewhere;
  char text[512];
};

struct SharedCommunicator {
  uint64_t generation;  // unique in the session
  int32_t ranks;
  std::atomic<int32_t> joined;
  std::atomic<uint64_t> arrivals;   // of collectives, all ranks together
  std::atomic<uint64_t> completed;  // collectives
  std::atomic<int32_t> touching;    // ranks now reading or writing other ranks' buffers
  SharedFailure failure;
  std::array<Seat, kMaxRanks> seats;
  std::array<Mailbox, size_t{kMaxRanks} * kMaxRanks> mailboxes;

  Mailbox& mailbox(int from, int to) {
    return mailboxes[static_cast<size_t>(from) * static_cast<size_t>(ranks) +
                     static_cast<size_t>(to)];
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// A rank's hold on its slot; `shared` is null when it has none.
struct SlotReference {
  SharedCommunicator* shared = nullptr;
  int index = -1;
};

/// Takes `rank`'s seat in the communicator of this key and makes the slot when it is the first.
/// Does not wait for the others. ncclInvalidUsage: the seat is taken, or another number of ranks
/// was given under this key; ncclSystemError: no session memory.
ncclResult_t join(const CommunicatorKey& key, int ranks, int rank, int device,
                  SlotReference* reference);

/// Gives the seat back; the last one frees the slot.
void leave(const SlotReference& reference, int rank, Presence presence = Presence::kLeft);

/// Records a failure for all ranks, unless there is one already.
void record_failure(SharedCommunicator& shared, int origin, ncclResult_t code_at_origin,
                    ncclResult_t code_elsewhere, const std::string& text);

/// What rank `rank` has to report of the recorded failure: ncclSuccess when there is none.
ncclResult_t read_failure(const SharedCommunicator& shared, int rank, std::string* text);

}  // namespace braid::vgpu::nccl
