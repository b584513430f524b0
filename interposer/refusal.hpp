// Why a call was not rewritten, or not started early: a closed list, counted and shown.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace braid::interposer {

enum class Refusal : uint8_t {
  // The whole communicator runs as stock.
  kNotAgreed,          // a rank without braid, or ranks with different settings
  kSideChannel,        // no side channel (NCCL_COMM_ID, coordinator unreachable or not a member)
  kGroupedInit,        // created inside a group, by ncclCommInitAll or from several ids
  kNonblocking,        // a communicator with blocking=0
  kChildCommunicator,  // made by ncclCommSplit or ncclCommShrink
  kOneHardwareQueue,   // CUDA_DEVICE_MAX_CONNECTIONS=1 defeats early parts
  // The call is made once, as it stands.
  kNoRule,         // no rule of the policy matches
  kNotCarriedOut,  // a rule asks for what this version cannot do
  kNumerics,       // the numerics class forbids it
  kUserReduction,  // a reduction made by the program
  kNoPair,         // no GEMM that feeds it has been learned
  kNoGain,         // the model sees no gain in splitting
  kNoModel,        // parts = "auto", but no topology or GPU model to decide with
  // The call is split, but its parts wait for everything that came before.
  kCapture,               // a CUDA graph is being captured
  kCoverage,              // work could have been enqueued unseen (no CUPTI, or another subscriber)
  kGemmNotSplit,          // the GEMM before it ran whole
  kInterveningWork,       // something was enqueued between the GEMM and the collective
  kMemoryOverlap,         // the collective writes what the GEMM still reads (rule 3)
  kOtherBuffer,           // the collective does not read that GEMM's output, or only a part of it
  kSeveralCommunicators,  // collectives of several communicators share a group
  kSeveralStreams,        // collectives of a group run on several streams
  kResources,             // no event or stream could be made
  kCount
};

/// The name shown to users ("numerics", "intervening_work", …).
const char* name_of(Refusal reason);
/// One sentence for the report.
const char* explain(Refusal reason);

/// Counts by reason, for the whole process.
class RefusalCounter {
 public:
  void count(Refusal reason) {
    counts_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  /// Reasons met at least once, in the order of the list.
  std::vector<std::pair<Refusal, uint64_t>> snapshot() const;

 private:
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Refusal::kCount)> counts_{};
};

RefusalCounter& refusals();

}  // namespace braid::interposer
