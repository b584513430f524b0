// Which GEMMs feed which collectives: learned from what the program did before.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "interposer/plan_table.hpp"
#include "interposer/split_gemm.hpp"

namespace braid::interposer {

/// A GEMM as the pair learner sees it: row-major C[m,n] = A[m,k] B[k,n], one row after the other.
struct GemmShape {
  uint64_t m = 0, n = 0, k = 0;
  uint32_t type = 0;         // model::trace::ElementType of the operands
  uint32_t output_type = 0;  // of the result
  bool operator==(const GemmShape&) const = default;
};

/// A pair as it was last seen.
struct LearnedPair {
  uint32_t communicator = 0;  // CommunicatorState::id
  Signature signature;
};

/// Per device: the last GEMMs, and what followed them. A GEMM is known by its own key and the three
/// GEMMs and collectives before it: one shape may occur several times in a layer, and only one of
/// them feed a collective. Thread safe.
class PairLearner {
 public:
  static PairLearner& instance();

  /// A GEMM with this key (hash of everything that tells its call apart) wrote `output`.
  void note_gemm(int device, uint64_t key, const GemmShape& shape, const MemoryRange& output);

  /// A collective reads `input`: was it the output of one of the last GEMMs? Then the pair is
  /// learned, and the GEMM's shape returned.
  std::optional<GemmShape> match(int device, const MemoryRange& input, const LearnedPair& pair);

  /// What is expected to follow the GEMM with this key; empty when it was never followed by a
  /// collective, or has failed to be too often.
  std::optional<LearnedPair> predict(int device, uint64_t key);

 private:
  struct RecentGemm {
    uint64_t context = 0;
    GemmShape shape;
    MemoryRange output;
  };
  struct Expectation {
    LearnedPair pair;
    uint32_t hits = 0;
    uint32_t misses = 0;
    bool open = false;  // predicted, and not yet followed by the collective
  };
  static constexpr size_t kRecent = 16;
  static constexpr size_t kHistory = 3;
  struct DeviceState {
    RecentGemm recent[kRecent];
    size_t next = 0;
    uint64_t history[kHistory] = {};                     // latest first
    std::unordered_map<uint64_t, Expectation> expected;  // by context

    uint64_t context_of(uint64_t key) const;
    void remember(uint64_t event);
  };

  std::mutex mutex_;
  std::unordered_map<int, DeviceState> devices_;
};

}  // namespace braid::interposer
