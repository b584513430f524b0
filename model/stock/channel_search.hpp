// One search of NCCL's for channels: at a given bandwidth, class of path and pattern, as many rings
// or chains as the links carry at once. Source: behaviour of NCCL 2.28.9, src/graph/search.cc.
#pragma once

#include <vector>

#include "model/link_graph.hpp"
#include "model/path_type.hpp"
#include "model/topology.hpp"

namespace braid::model::stock {

/// NCCL's numbers, as graph files hold them.
enum class Pattern { kBalancedTree = 1, kSplitTree = 2, kTree = 3, kRing = 4 };

/// What all searches for one communicator share. GPUs are indices into `topology.gpus`, which holds
/// only the communicator's.
struct SearchBox {
  SearchBox(const Topology& topology, const LinkGraph& graph, const RouteTable& routes);

  const LinkGraph& graph;
  const RouteTable& routes;
  int n_gpus = 0;
  std::vector<Mbps> capacities;  // by link
  Mbps widest_path = 0;          // between two GPUs
  Mbps total = 0;                // what the best connected GPU has in sum
  PathType nearest = PathType::kSys, farthest = PathType::kLoc;
  int min_compute_capability = 0;
  bool amd = false;
  bool nvswitch = false;
  bool two_nvlink_islands = false;  // exactly two groups of GPUs joined by NVLink
};

/// What is looked for, and what was found for it.
struct Attempt {
  Pattern pattern = Pattern::kRing;
  int min_channels = 1, max_channels = 1;
  bool same_channels = true;  // all channels repeat the first
  PathType type = PathType::kLoc;
  Mbps mbps_intra = 0, mbps_inter = 0;  // a channel, inside the host and towards the network
  int hops = 0;
  std::vector<std::vector<int>> channels;

  Mbps total_intra() const { return static_cast<Mbps>(channels.size()) * mbps_intra; }
};

/// How a search ended.
enum class Outcome {
  kPerfect,    // max_channels were found
  kExhausted,  // every possibility was seen
  kTimeout,    // the step budget ran out
};

struct SearchEnd {
  Outcome outcome = Outcome::kExhausted;
  int steps_left = 0;
};

/// Searches depth first, at most `budget` steps, and replaces `best` by whatever is better: more
/// bandwidth in sum, else fewer hops. `attempt`'s own channels are not used.
SearchEnd search_channels(const SearchBox& box, const Attempt& attempt, int budget, Attempt& best);

}  // namespace braid::model::stock
