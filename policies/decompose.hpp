// Into how many parts a GEMM and the collective on its output are cut.
#pragma once

#include <cstdint>
#include <vector>

#include "config/policy.hpp"
#include "model/cost/communication.hpp"
#include "model/cost/gemm.hpp"
#include "model/gpu.hpp"
#include "model/stock_nccl.hpp"

namespace braid::policies {

/// What the decision depends on. The coordinator of a communicator decides once for all ranks, so
/// all of it must be agreed or the coordinator's own; pointers are not kept.
struct DecomposeInputs {
  model::GemmShape gemm;  // one rank's row-major GEMM; its rows are cut
  config::Collective collective = config::Collective::kAllReduce;
  uint64_t bytes = 0;  // nccl-tests' size of the collective
  int ranks = 0;
  const model::GpuModel* gpu = nullptr;
  const model::StockPlan* plan = nullptr;  // of the communicator
  /// Optional: link capacities in place of NCCL's own bandwidth model. `gpus`: indices into the
  /// topology in rank order.
  const model::CommunicationModel* network = nullptr;
  std::vector<int> gpus;
  int hardware_queues = 8;
};

enum class DecomposeReason {
  kDecomposed,        // parts > 1
  kNotAsked,          // the rule's strategy is another one
  kOneHardwareQueue,  // the queue's order defeats early parts (design §4)
  kNoModel,           // `auto` without GPU figures or a plan of the communicator
  kTooSmall,          // no cut leaves every part its least size
  kNoGain,            // the best cut gains less than kLeastGain
};
const char* name_of(DecomposeReason reason);  // "one_hardware_queue", …

struct Decision {
  int parts = 1;  // 1: serial
  DecomposeReason reason = DecomposeReason::kNotAsked;
  double serial_us = 0, decomposed_us = 0;  // predicted; 0 where no model was needed or at hand
};

inline constexpr int kMostParts = 64;
/// Below this a sub-collective is all latency, and NCCL leaves part of its channels idle: it uses
/// all of them from 256 KiB on (nccl_facts J.3), so a part gives up at most two doublings.
inline constexpr uint64_t kLeastPartBytes = 64 << 10;
/// Rows a part must have: fewer than the smallest tile's waste most of it.
inline constexpr uint64_t kLeastPartRows = 64;
/// Predicted gain below which a pair stays serial: the model is not finer than that.
inline constexpr double kLeastGain = 0.02;

/// A pure function. A rule with a number of parts is obeyed wherever the GEMM has that many rows;
/// `auto` (0) takes, among the numbers of parts that divide the rows evenly, the one with the least
/// predicted time: the parts' GEMMs by tiles and waves, on the SMs the collective's channels leave
/// from the second part on, the sub-collectives by the cost model at their own size (so a change of
/// protocol counts), one launch each. Of numbers within 2% of the best the smallest is taken.
Decision decide_parts(const config::Rule& rule, const DecomposeInputs& inputs);

/// The prediction behind `auto`: time from the GEMM's start to the collective's end, in µs.
double predict_parts(const DecomposeInputs& inputs, int parts);

}  // namespace braid::policies
