#include "model/link_graph.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "model/routes.hpp"

namespace braid::model {
namespace {

constexpr uint32_t kCpuNvlinkClass = 0x068001;

/// Generation of a Broadcom PEX switch that shows itself as two levels of switches although all its
/// ports run at full speed; 0: another device. `level` is 0 for the upper, 1 for the lower part.
int two_level_switch_generation(uint64_t device_id, int level) {
  const uint64_t model = device_id & ~uint64_t{0xfff};
  if (model == 0x1000c0101000a000u) {
    return 4;
  }
  return model == (0x1000c03010000000u | static_cast<uint64_t>(level) << 12) ? 5 : 0;
}

class Builder {
 public:
  explicit Builder(const Topology& topology) : topology_(topology) {}

  LinkGraph build() {
    sort_out_devices();
    for (size_t c = 0; c < topology_.cpus.size(); ++c) {
      cpu_nodes_.push_back(add_node(LinkNode::Kind::kCpu, static_cast<int>(c)));
    }
    for (size_t c = 0; c < topology_.cpus.size(); ++c) {
      add_children(-1, static_cast<int>(c), cpu_nodes_[c]);
    }
    add_nics_without_device();
    add_nvlinks();
    add_sockets();
    put_uplinks_last();
    return std::move(graph_);
  }

 private:
  /// Which PCI node holds what, and which switch levels to merge into the one above.
  void sort_out_devices() {
    const auto& nodes = topology_.pci_nodes;
    gpu_at_.assign(nodes.size(), -1);
    nic_at_.assign(nodes.size(), -1);
    parent_.resize(nodes.size());
    node_of_pci_.assign(nodes.size(), -1);
    has_children_.assign(nodes.size(), false);
    for (const auto& node : nodes) {
      if (node.parent >= 0) {
        has_children_[node.parent] = true;
      }
    }
    for (size_t g = 0; g < topology_.gpus.size(); ++g) {
      gpu_at_[topology_.gpus[g].pci_node] = static_cast<int>(g);
    }
    for (size_t n = 0; n < topology_.nics.size(); ++n) {
      const int pci = topology_.nics[n].pci_node;
      if (pci >= 0 && nic_at_[pci] < 0) {
        nic_at_[pci] = static_cast<int>(n);
      }
    }
    merged_.assign(nodes.size(), false);
    for (size_t i = 0; i < nodes.size(); ++i) {  // parents come before their children
      const int up = nodes[i].parent;
      parent_[i] = up >= 0 && merged_[up] ? parent_[up] : up;
      if (up >= 0 && !merged_[up] && is_switch(up) && is_switch(i)) {
        const int generation = two_level_switch_generation(nodes[up].device_id, 0);
        merged_[i] =
            generation != 0 && two_level_switch_generation(nodes[i].device_id, 1) == generation;
      }
    }
  }

  /// True for what has devices below it, and for lone devices of no class that says otherwise.
  bool is_switch(size_t pci) const {
    const uint32_t device_class = topology_.pci_nodes[pci].device_class;
    const bool other = device_class >> 16 == 0x02 || device_class >> 16 == 0x03 ||
                       device_class == 0x068000 || device_class == kCpuNvlinkClass;
    return has_children_[pci] || (gpu_at_[pci] < 0 && nic_at_[pci] < 0 && !other);
  }

  int add_node(LinkNode::Kind kind, int index) {
    graph_.nodes.push_back({kind, index, {}});
    if (kind == LinkNode::Kind::kGpu) {
      graph_.gpu_nodes.resize(topology_.gpus.size(), -1);
      graph_.gpu_nodes[index] = static_cast<int>(graph_.nodes.size()) - 1;
    }
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  /// Adds capacity from one node to another, and keeps the widest links of a node first.
  void add_link(int from, int to, LinkKind kind, Mbps mbps) {
    auto& out = graph_.nodes[from].out;
    auto at = std::find_if(out.begin(), out.end(), [&](int id) {
      return graph_.links[id].to == to && graph_.links[id].kind == kind;
    });
    if (at == out.end()) {
      graph_.links.push_back({from, to, kind, 0});
      out.push_back(static_cast<int>(graph_.links.size()) - 1);
      at = out.end() - 1;
    }
    graph_.links[*at].capacity_gbps += static_cast<double>(mbps) / 1000;
    while (at != out.begin() && graph_.links[*(at - 1)].mbps() < graph_.links[*at].mbps()) {
      std::iter_swap(at - 1, at);
      --at;
    }
  }

  void add_both_ways(int a, int b, LinkKind kind, Mbps mbps) {
    add_link(a, b, kind, mbps);
    add_link(b, a, kind, mbps);
  }

  /// The devices plugged into a switch (`pci`) or, with -1, into the root ports of a CPU. A device
  /// is joined to what is above it after its own children, as in NCCL: it decides between equal
  /// paths.
  void add_children(int pci, int cpu, int above) {
    if (children_.empty()) {
      children_.resize(topology_.pci_nodes.size());
      roots_.resize(topology_.cpus.size());
      for (size_t i = 0; i < topology_.pci_nodes.size(); ++i) {
        if (!merged_[i]) {
          (parent_[i] < 0 ? roots_[topology_.pci_nodes[i].cpu] : children_[parent_[i]])
              .push_back(static_cast<int>(i));
        }
      }
    }
    for (const int child : pci < 0 ? roots_[cpu] : children_[pci]) {
      const Mbps mbps = pcie_mbps(topology_.pci_nodes[child]);
      if (is_switch(child)) {
        const int node = add_node(LinkNode::Kind::kSwitch, child);
        node_of_pci_[child] = node;
        add_children(child, cpu, node);
        add_both_ways(node, above, LinkKind::kSwitchUplink, mbps);
      } else if (gpu_at_[child] >= 0) {
        add_both_ways(add_node(LinkNode::Kind::kGpu, gpu_at_[child]), above, LinkKind::kPcie, mbps);
      } else if (nic_at_[child] >= 0) {
        add_both_ways(add_node(LinkNode::Kind::kNic, nic_at_[child]), above, LinkKind::kPcie, mbps);
      }
    }
  }

  void add_nics_without_device() {
    for (size_t n = 0; n < topology_.nics.size(); ++n) {
      if (topology_.nics[n].pci_node < 0) {
        const int node = add_node(LinkNode::Kind::kNic, static_cast<int>(n));
        const auto mbps = static_cast<Mbps>(std::max(topology_.nics[n].speed_mbps, 0.0) / 8);
        add_both_ways(cpu_nodes_[topology_.nics[n].cpu], node, LinkKind::kNic, mbps);
      }
    }
  }

  void add_nvlinks() {
    int nvswitch = -1;
    for (size_t g = 0; g < topology_.gpus.size(); ++g) {
      const auto& gpu = topology_.gpus[g];
      const int node = graph_.gpu_nodes[g];
      for (const auto& link : gpu.nvlinks) {
        const Mbps mbps = link.count * nvlink_mbps(gpu.compute_capability);
        if (link.target_gpu >= 0) {
          add_link(node, graph_.gpu_nodes[link.target_gpu], LinkKind::kNvlink, mbps);
        } else if (link.target_class == kCpuNvlinkClass) {
          add_both_ways(node, cpu_nodes_[gpu.cpu], LinkKind::kNvlink, mbps);
        } else {
          if (nvswitch < 0) {
            nvswitch = add_node(LinkNode::Kind::kNvswitch, 0);
          }
          add_both_ways(node, nvswitch, LinkKind::kNvswitch, mbps);
        }
      }
    }
  }

  void add_sockets() {
    for (size_t a = 0; a < topology_.cpus.size(); ++a) {
      for (size_t b = 0; b < topology_.cpus.size(); ++b) {
        if (a != b && topology_.cpus[a].host == topology_.cpus[b].host) {
          add_link(cpu_nodes_[a], cpu_nodes_[b], LinkKind::kSocket, socket_mbps(topology_.cpus[a]));
        }
      }
    }
  }

  /// In everything below a CPU, the link upwards is the last one.
  void put_uplinks_last() {
    for (auto& node : graph_.nodes) {
      const int above = node.kind == LinkNode::Kind::kGpu
                            ? above_of(topology_.gpus[node.index].pci_node)
                        : node.kind == LinkNode::Kind::kSwitch ? above_of(node.index)
                                                               : -1;
      const auto up = std::find_if(node.out.begin(), node.out.end(), [&](int id) {
        const Link& link = graph_.links[id];
        return link.to == above &&
               (link.kind == LinkKind::kPcie || link.kind == LinkKind::kSwitchUplink);
      });
      if (up != node.out.end()) {
        std::rotate(up, up + 1, node.out.end());
      }
    }
  }

  int above_of(int pci) const {
    return parent_[pci] < 0 ? cpu_nodes_[topology_.pci_nodes[pci].cpu] : node_of_pci_[parent_[pci]];
  }

  const Topology& topology_;
  LinkGraph graph_;
  std::vector<int> cpu_nodes_, gpu_at_, nic_at_, parent_, node_of_pci_;
  std::vector<bool> merged_, has_children_;
  std::vector<std::vector<int>> children_, roots_;
};

void add_hop(const LinkGraph& graph, int from, int to, std::vector<double>& loads) {
  const Route& route = graph.routes[from][to];
  for (const int id : route.links) {
    const auto kind = graph.links[id].kind;
    const bool pcie = kind == LinkKind::kPcie || kind == LinkKind::kSwitchUplink;
    loads[id] += pcie ? route.pcie_overhead : 1;
  }
}

}  // namespace

const char* name_of(LinkKind kind) {
  constexpr const char* kNames[] = {"pcie", "switch", "socket", "nvlink", "nvswitch", "nic"};
  return kNames[static_cast<int>(kind)];
}

Mbps Link::mbps() const { return std::llround(capacity_gbps * 1000); }

std::vector<double> LinkGraph::loads_of_chain(const std::vector<int>& order) const {
  std::vector<double> loads(links.size(), 0.0);
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    add_hop(*this, order[i], order[i + 1], loads);
  }
  return loads;
}

std::vector<double> LinkGraph::loads_of_ring(const std::vector<int>& order) const {
  auto loads = loads_of_chain(order);
  if (order.size() > 1) {
    add_hop(*this, order.back(), order.front(), loads);
  }
  return loads;
}

LinkGraph build_link_graph(const Topology& topology, PathType p2p_level) {
  LinkGraph graph = Builder(topology).build();
  graph.routes = find_routes(graph, topology, {p2p_level, false});
  return graph;
}

LinkGraph build_link_graph(const Topology& topology) {
  return build_link_graph(topology, default_p2p_level(topology));
}

}  // namespace braid::model
