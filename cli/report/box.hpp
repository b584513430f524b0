// A box as people see it: one description that the text drawing, the SVG and the JSON share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/json_output.hpp"
#include "config/policy.hpp"
#include "model/link_graph.hpp"
#include "model/stock_nccl.hpp"
#include "model/topology.hpp"

namespace braid::cli {

/// What stock NCCL would do for one collective and size.
struct StockChoice {
  config::Collective collective = config::Collective::kAllReduce;
  uint64_t bytes = 0;
  model::Choice choice;
  double busbw_gbps = 0;
};

/// A topology, its links and stock NCCL's set-up on all its GPUs.
struct Box {
  model::Topology topology;
  model::LinkGraph graph;
  std::vector<int> by_dev;  // indices into topology.gpus
  std::optional<model::StockPlan> stock;
  std::string stock_error;  // why there is no plan
  std::vector<StockChoice> choices;
};

/// Reads everything out of the model. `settings`: NCCL_* settings to assume.
Box describe_box(model::Topology topology, const model::NcclSettings& settings);

/// Size at which `stock.busbw_gbps` and `stock.choice` are given.
inline constexpr uint64_t kBusbwBytes = 256ull << 20;

/// busbw = bytes / time × the collective's factor, as nccl-tests defines it.
double bus_bandwidth(config::Collective collective, uint64_t bytes, double time_us, int ranks);

/// "gpu0", "cpu1", "switch 0000:01:00.0", "nvswitch", "nic mlx5_0".
std::string node_name(const Box& box, int node);

/// The text view of `braid topo`.
std::string box_text(const Box& box);
/// The JSON of the command contract.
Json box_json(const Box& box);
/// A picture of sockets, PCIe and NVLink, one self-contained SVG document.
std::string box_svg(const Box& box);

}  // namespace braid::cli
