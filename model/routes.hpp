// Finding the ways between the GPUs of a link graph as NCCL does.
#pragma once

#include "model/link_graph.hpp"
#include "model/path_type.hpp"
#include "model/topology.hpp"

namespace braid::model {

struct RouteRules {
  /// Farthest class of path that GPUs reach each other over directly; farther ones go through
  /// memory of the receiving GPU's CPU. kLoc: always through memory.
  PathType p2p_level = PathType::kPxb;
  /// NCCL's search takes a GPU to reach a far CPU through an NVLink neighbour where that has more
  /// bandwidth. It is only how it counts: the bytes really go over the GPU's own PCIe link.
  bool reach_cpu_through_gpu = false;
};

/// NCCL's default level: PXB, or SYS for one or two GPUs on an AMD host (paths.cc:318-330).
PathType default_p2p_level(const Topology& topology);

/// Widest of the shortest paths between all pairs of GPUs.
RouteTable find_routes(const LinkGraph& graph, const Topology& topology, const RouteRules& rules);

}  // namespace braid::model
