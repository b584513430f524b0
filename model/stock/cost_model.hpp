// NCCL's cost model: latency and bandwidth of every collective, algorithm and protocol.
#pragma once

#include <string>

#include "model/stock/selection.hpp"
#include "model/stock_nccl.hpp"

namespace braid::model::stock {

/// NCCL_ALGO and NCCL_PROTO, parsed.
Result<Selection> parse_algorithms(const std::string& text);
Result<Selection> parse_protocols(const std::string& text);

/// The GPUs of a communicator, as far as the model looks at them.
struct GpuClass {
  int min_compute_capability = 0, max_compute_capability = 0;
};

/// Fills the plan's latency_us, bandwidth_gbps and ring_simple_threads from its graphs, for one
/// host. Source of formulas and constants: NCCL 2.28.9, src/graph/tuning.cc.
void fill_cost_model(const GpuClass& gpus, const Selection& algorithms, const Selection& protocols,
                     StockPlan& plan);

}  // namespace braid::model::stock
