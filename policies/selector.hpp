// For a GEMM and the collective it feeds or is fed by: the strategy, the scheme and the cut.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "model/calibration.hpp"
#include "model/collective_predictor.hpp"
#include "model/cost/overlap.hpp"
#include "model/gpu.hpp"

namespace braid::policies {

/// What a pair is known by. All ranks of a communicator see the same values.
struct PairKey {
  model::PairOrder order = model::PairOrder::kGemmFirst;
  config::Collective collective = config::Collective::kAllReduce;
  model::GemmShape gemm;  // one rank's row-major GEMM
  uint64_t bytes = 0;     // nccl-tests' size of the collective
  int ranks = 0;
};

/// What else is known of the pair, and shrinks the list of candidates.
struct PairConstraints {
  config::Numerics numerics = config::Numerics::kReordered;
  bool captured = false;         // in a CUDA graph: nothing may be created
  bool epilogue_splits = true;   // bias or activation by row block gives the same result
  bool fused_available = false;  // a kernel for this GPU and shape is compiled in
  int hardware_queues = 8;
};

/// Why a candidate is out, or kNone. One word each in reports.
enum class Exclusion : uint8_t {
  kNone,
  kNumerics,          // the class forbids another order of sums
  kOneHardwareQueue,  // the queue's order defeats early parts
  kLayout,            // the collective's layout cannot be cut (digest §1.3)
  kEpilogue,
  kCapture,
  kTooSmall,
  kNotOffered,  // the box has no such scheme for this collective
  kNoKernel,    // no fused kernel
  kPolicy,      // the policy's rule forbids it
};
const char* name_of(Exclusion exclusion);

struct Candidate {
  config::Strategy strategy = config::Strategy::kSerial;
  model::SchemeKind scheme = model::SchemeKind::kStock;
  config::Cut cut = config::Cut::kEqual;
  int parts = 1;
  double time_us = 0;  // predicted
  Exclusion exclusion = Exclusion::kNone;
};

inline constexpr int kMostBoundaries = 65;

/// The selector's answer. Fixed size: handing one out allocates nothing.
struct Selection {
  Candidate pick;
  double serial_us = 0;  // stock, GEMM and collective one after the other
  int boundary_count = 2;
  std::array<uint64_t, kMostBoundaries> boundaries{};  // rows of the GEMM
};

/// Chooses for the pairs of one communicator on one GPU model. Thread-safe; the cache is bounded.
class Selector {
 public:
  struct Options {
    const model::CollectivePredictor* predictor = nullptr;  // must outlive the selector
    const model::GpuModel* gpu = nullptr;
    const model::Calibration* calibration = nullptr;
    const config::Policy* policy = nullptr;  // rules restrict or force; nullptr: free choice
  };
  explicit Selector(const Options& options);
  Selector(Selector&&) noexcept;
  ~Selector();

  /// The candidate with the least predicted time; ties and near-ties (2%) go to the simpler one
  /// (serial, then fewer parts, then stock before schemes, decompose before fused). Never one that
  /// is predicted slower than serial. From the cache where the key was asked before.
  Selection select(const PairKey& key, const PairConstraints& constraints) const;

  /// Every candidate that was evaluated or excluded, best first, for `braid plan`.
  std::vector<Candidate> candidates(const PairKey& key, const PairConstraints& constraints) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace braid::policies
