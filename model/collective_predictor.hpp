// How long one collective takes on a box, by stock NCCL or by a scheme.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/result.hpp"
#include "model/calibration.hpp"
#include "model/link_capacities.hpp"
#include "model/schemes/scheme.hpp"
#include "model/stock_nccl.hpp"
#include "model/topology.hpp"

namespace braid::model {

struct CollectivePrediction {
  SchemeKind scheme = SchemeKind::kStock;
  std::string algorithm;  // "Tree/Simple", "hierarchical pair+across, 8 chunks", …
  int channels = 0;       // SMs held on each rank
  double time_us = 0, low_us = 0, high_us = 0;  // predicted, with its interval
  double algbw_gbps = 0, busbw_gbps = 0;        // nccl-tests' definitions
  int binding_link = -1;  // link id; -1: latency or the channels' own speed binds
  std::string binding;    // in words, with load and capacity
  /// Capacity of the binding link (GB/s) at which another one would bind; 0: none would.
  double binding_changes_at_gbps = 0;
  std::vector<uint64_t> chunks;  // bytes of each chunk of a hierarchy's pipeline
};

struct PredictorOptions {
  NcclSettings nccl;
  CapacityOptions capacities;
  const Calibration* calibration = nullptr;  // measured figures win over modelled ones
};

/// Prices collectives over one communicator. Immutable after construction; safe from any thread.
class CollectivePredictor {
 public:
  /// `gpus`: indices into topology.gpus in rank order. Errors as plan_stock.
  static Result<CollectivePredictor> create(const Topology& topology, const std::vector<int>& gpus,
                                            const PredictorOptions& options = {});
  CollectivePredictor(CollectivePredictor&&) noexcept;
  CollectivePredictor& operator=(CollectivePredictor&&) noexcept;
  ~CollectivePredictor();

  int ranks() const;
  const SchemeInputs& inputs() const;
  const StockPlan& stock_plan() const;
  /// Offers for a collective, with reasons (AllReduce, AllGather, ReduceScatter; others: stock).
  const std::vector<SchemeOffer>& offers(config::Collective collective) const;

  /// Empty when the scheme is not offered for the collective.
  std::optional<CollectivePrediction> predict(config::Collective collective, uint64_t bytes,
                                              SchemeKind scheme) const;
  /// Least predicted time over stock and all offers; within 2% of the least, the simplest (stock,
  /// then the order of SchemeKind).
  CollectivePrediction predict_best(config::Collective collective, uint64_t bytes) const;

 private:
  struct Parts;
  explicit CollectivePredictor(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace braid::model
