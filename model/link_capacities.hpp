// What each directed link really carries, and where the figure comes from. The link graph holds
// the figures NCCL decides by; these are the ones bytes are timed with.
#pragma once

#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/link_graph.hpp"
#include "model/topology.hpp"

namespace braid::model {

struct LinkCapacity {
  double gbps = 0;     // this direction, GB/s = 1e9 bytes a second
  std::string source;  // "data sheet: 3 xGMI links of 16 GT/s x16, 80%", "measured (FILE)", …
};

/// Replaces the shipped figure of all links of a kind, or of one link.
struct CapacityOverride {
  LinkKind kind = LinkKind::kPcie;
  std::string from, to;  // name_of_node of both ends; empty: every link of the kind
  double gbps = 0;
  std::string source;  // "command line", "calibration FILE:LINE"
};

struct CapacityOptions {
  /// Start from NCCL's own model of the links (capacities.hpp) instead of the shipped figures.
  bool nccl_figures = false;
  std::vector<CapacityOverride> overrides;  // later ones win
};

/// By link id. Shipped figures are those of config/capacities.toml, compiled in, each with its
/// source; a kind of link that has none there keeps NCCL's.
std::vector<LinkCapacity> link_capacities(const Topology& topology, const LinkGraph& graph,
                                          const CapacityOptions& options = {});

/// Parses "KIND=GBPS" ("socket=64"), as `--capacity` takes it. The error names the kinds.
Result<CapacityOverride> parse_capacity(const std::string& text);

/// "gpu 3", "switch 0000:10:00.0", "cpu 1", "nvswitch", "nic mlx5_0": unique within a box, and the
/// names that reports, pictures and calibration files use.
std::string name_of_node(const Topology& topology, const LinkGraph& graph, int node);
/// "gpu 3 → cpu 0 (pcie)".
std::string name_of_link(const Topology& topology, const LinkGraph& graph, int link);

}  // namespace braid::model
