// A box as a graph of directed links with capacities: what transfers share, and the way they take.
#pragma once

#include <string>
#include <vector>

#include "model/capacities.hpp"
#include "model/path_type.hpp"
#include "model/topology.hpp"

namespace braid::model {

enum class LinkKind {
  kPcie,          // GPU or NIC to what it is plugged into: a switch or a root port
  kSwitchUplink,  // PCIe switch to a root port or to another switch; all below share it
  kSocket,        // between NUMA nodes of a host: UPI, QPI, xGMI
  kNvlink,        // GPU to GPU (or to the CPU on POWER); all NVLinks of the pair together
  kNvswitch,      // GPU to the NVSwitches; all NVLinks of the GPU together
  kNic,           // network port
};
const char* name_of(LinkKind kind);  // "pcie", "switch", "socket", "nvlink", "nvswitch", "nic"

struct LinkNode {
  enum class Kind { kGpu, kSwitch, kNvswitch, kCpu, kNic };
  Kind kind = Kind::kGpu;
  int index = 0;  // into Topology::gpus, pci_nodes, cpus, nics by kind; 0 for the NVSwitch plane
  std::vector<int> out;  // links that leave it: widest first, the one towards the CPU last
};

struct Link {
  int from = 0, to = 0;  // into LinkGraph::nodes
  LinkKind kind = LinkKind::kPcie;
  double capacity_gbps = 0;  // this direction

  Mbps mbps() const;
};

/// A way between two GPUs.
struct Route {
  std::vector<int> links;  // into LinkGraph::links, in travel order; empty: same GPU, or no way
  PathType type = PathType::kDis;
  Mbps mbps = 0;  // of its narrowest link when nothing else runs
  /// Bytes on each PCIe link per byte moved: 1.2 through one Intel root complex, else 1.
  double pcie_overhead = 1;
};
using RouteTable = std::vector<std::vector<Route>>;  // [from][to], indices into Topology::gpus

/// Immutable once built; all functions are safe from any thread.
struct LinkGraph {
  std::vector<LinkNode> nodes;
  std::vector<Link> links;
  std::vector<int> gpu_nodes;  // by index into Topology::gpus
  RouteTable routes;

  /// The links data takes from one GPU to another: NVLink where there is one (also through one GPU
  /// between), else PCIe, up to the CPU and through host memory unless a switch joins the two.
  const std::vector<int>& route(int from_gpu, int to_gpu) const {
    return routes[from_gpu][to_gpu].links;
  }

  /// For each link, the bytes it carries per byte that each member of the closed ring over `order`
  /// (GPU indices) passes on, PCIe overhead included.
  std::vector<double> loads_of_ring(const std::vector<int>& order) const;
  /// The same for an open chain, one way from first to last.
  std::vector<double> loads_of_chain(const std::vector<int>& order) const;
};

/// Builds the graph of every host in the file. Routes follow NCCL's default choice of transport for
/// the GPUs in `topology`: pass subset_topology's result for a communicator on some of them.
LinkGraph build_link_graph(const Topology& topology);
/// The same with an NCCL_P2P_LEVEL; PathType::kLoc means no P2P at all.
LinkGraph build_link_graph(const Topology& topology, PathType p2p_level);

}  // namespace braid::model
