#include "model/routes.hpp"

#include <algorithm>

namespace braid::model {
namespace {

/// A path from some node to the node a search started at.
struct Leg {
  std::vector<int> links;  // in travel order, towards the start
  Mbps mbps = 0;           // 0: not reached
  PathType type = PathType::kDis;
};

bool is_nvlink(LinkKind kind) { return kind == LinkKind::kNvlink || kind == LinkKind::kNvswitch; }

bool is_pcie(LinkKind kind) { return kind == LinkKind::kPcie || kind == LinkKind::kSwitchUplink; }

/// Links that one hop may use in both directions are of one family: a pair of nodes can be joined
/// by NVLink and by PCIe.
int family_of(LinkKind kind) { return is_nvlink(kind) ? 0 : is_pcie(kind) ? 1 : 2; }

int opposite_link(const LinkGraph& graph, const Link& link) {
  for (const int candidate : graph.nodes[link.to].out) {
    const Link& other = graph.links[candidate];
    if (other.to == link.from && family_of(other.kind) == family_of(link.kind)) {
      return candidate;
    }
  }
  return -1;
}

/// Class of a path of one hop over `link`, whatever its direction.
PathType hop_type(const LinkGraph& graph, const Link& link) {
  const auto from = graph.nodes[link.from].kind, to = graph.nodes[link.to].kind;
  if (is_nvlink(link.kind)) {
    return PathType::kNvl;
  }
  if (is_pcie(link.kind)) {
    if (from == LinkNode::Kind::kCpu || to == LinkNode::Kind::kCpu) {
      return PathType::kPhb;
    }
    const bool between_switches = from == LinkNode::Kind::kSwitch && to == LinkNode::Kind::kSwitch;
    return between_switches ? PathType::kPxb : PathType::kPix;
  }
  return link.kind == LinkKind::kSocket ? PathType::kSys : PathType::kLoc;
}

/// Paths from every node to `start`, found breadth first: fewest hops, then widest. GPUs forward
/// for others only from NVLink to NVLink, and only one of them (`through_gpu` false: none).
std::vector<Leg> search_from(const LinkGraph& graph, int start, bool through_gpu) {
  std::vector<Leg> legs(graph.nodes.size());
  legs[start].mbps = kLocalMbps;
  legs[start].type = PathType::kLoc;
  std::vector<int> layer = {start};
  while (!layer.empty()) {
    std::vector<int> next;
    for (const int node : layer) {
      for (const int id : graph.nodes[node].out) {
        const Link& link = graph.links[id];
        const auto& there = graph.nodes[link.to];
        const bool node_is_gpu = graph.nodes[node].kind == LinkNode::Kind::kGpu;
        if (node != start && node_is_gpu &&
            (!through_gpu || link.kind != LinkKind::kNvlink || there.kind != LinkNode::Kind::kGpu ||
             legs[node].links.size() > 1)) {
          continue;
        }
        Leg& leg = legs[link.to];
        const Mbps mbps = std::min(legs[node].mbps, link.mbps());
        const bool not_longer = leg.mbps == 0 || leg.links.size() > legs[node].links.size();
        if (!not_longer || mbps <= leg.mbps) {
          continue;
        }
        const int back = opposite_link(graph, link);
        if (back < 0) {
          continue;
        }
        PathType type = hop_type(graph, link);
        if (node_is_gpu && node != start && legs[node].type == PathType::kNvl &&
            type == PathType::kNvl) {
          type = PathType::kNvb;
        }
        Leg better;
        better.links.push_back(back);
        better.links.insert(better.links.end(), legs[node].links.begin(), legs[node].links.end());
        better.mbps = mbps;
        better.type = std::max(legs[node].type, type);
        leg = std::move(better);
        if (std::find(next.begin(), next.end(), link.to) == next.end()) {
          next.push_back(link.to);
        }
      }
    }
    layer = std::move(next);
  }
  return legs;
}

double pcie_overhead_of(const LinkGraph& graph, const Topology& topology, const Route& route) {
  if (route.type != PathType::kPhb) {
    return 1;
  }
  for (const int id : route.links) {
    const LinkNode& node = graph.nodes[graph.links[id].to];
    if (node.kind == LinkNode::Kind::kCpu && is_intel(topology.cpus[node.index])) {
      return 1.2;
    }
  }
  return 1;
}

}  // namespace

PathType default_p2p_level(const Topology& topology) {
  const bool amd = !topology.gpus.empty() && is_amd(topology.cpus[topology.gpus.front().cpu]);
  return amd && topology.gpus.size() <= 2 ? PathType::kSys : PathType::kPxb;
}

RouteTable find_routes(const LinkGraph& graph, const Topology& topology, const RouteRules& rules) {
  const size_t n = graph.gpu_nodes.size();
  std::vector<int> cpu_nodes;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].kind == LinkNode::Kind::kCpu) {
      cpu_nodes.push_back(static_cast<int>(node));
    }
  }
  // legs_to_cpu[c][g]: GPU g → CPU c.
  std::vector<std::vector<Leg>> legs_to_cpu;
  for (const int cpu : cpu_nodes) {
    auto legs = search_from(graph, cpu, rules.reach_cpu_through_gpu);
    std::vector<Leg> of_gpus;
    for (const int node : graph.gpu_nodes) {
      of_gpus.push_back(std::move(legs[node]));
    }
    legs_to_cpu.push_back(std::move(of_gpus));
  }

  RouteTable routes(n, std::vector<Route>(n));
  for (size_t to = 0; to < n; ++to) {
    const auto legs = search_from(graph, graph.gpu_nodes[to], true);
    const auto legs_past_no_gpu =
        rules.reach_cpu_through_gpu ? legs : search_from(graph, graph.gpu_nodes[to], false);
    size_t local_cpu = cpu_nodes.size();
    for (size_t c = 0; c < cpu_nodes.size(); ++c) {
      const size_t hops = legs_to_cpu[c][to].links.size();
      if (hops > 0 &&
          (local_cpu == cpu_nodes.size() || hops < legs_to_cpu[local_cpu][to].links.size())) {
        local_cpu = c;
      }
    }
    for (size_t from = 0; from < n; ++from) {
      const Leg& direct = legs[graph.gpu_nodes[from]];
      Route& route = routes[from][to];
      route.links = direct.links;
      route.type = direct.type;
      route.mbps = direct.mbps;
      if (direct.type > rules.p2p_level && direct.type != PathType::kDis &&
          local_cpu < cpu_nodes.size()) {
        const Leg& up = legs_to_cpu[local_cpu][from];
        const Leg& down = legs_past_no_gpu[cpu_nodes[local_cpu]];
        route.links = up.links;
        route.links.insert(route.links.end(), down.links.begin(), down.links.end());
        route.type = std::max(up.type, down.type);
        route.mbps = std::min(up.mbps, down.mbps);
      }
      route.pcie_overhead = pcie_overhead_of(graph, topology, route);
    }
  }
  return routes;
}

}  // namespace braid::model
