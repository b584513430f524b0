#include "model/cost/communication.hpp"

#include <algorithm>
#include <cmath>

#include "model/capacities.hpp"
#include "model/trace.hpp"

namespace braid::model {
namespace {

using trace::CollectiveFunction;

// A message through host memory reaches less than its PCIe links: nccl-tests issue 178 reports
// about 20 GB/s where the links carry 24.
constexpr double kHostMemoryEfficiency = 0.85;
// NVLink against the link graph's figure: 22.6 of 20 GB/s on V100 and 229 of 240 on 8 A100
// (vTrain's nccl-tests tables, 1 GiB). Other generations: A100's share.
constexpr double kNvlinkEfficiencyV100 = 1.12;
constexpr double kNvlinkEfficiency = 0.95;
// Inter-socket links by their makers' figures, at 80% of the wire rate: 3 UPI links of 11.2 GT/s
// x20 (Ice Lake; Skylake and Cascade Lake 3 of 10.4), 4 of 16 GT/s x24 (Sapphire Rapids and later),
// 3 xGMI links of 16 GT/s x16 (AMD EPYC 7002 and 7003). The link graph's values are those NCCL
// decides by; nccl-tests issue 178 (20 GB/s through a socket link that NCCL takes for 10 or 16) and
// NCCL pull request 2113 show them to be too low.
constexpr double kUpiGbps = 50;
constexpr double kUpiSapphireGbps = 120;
constexpr double kXgmiGbps = 75;
constexpr Mbps kNcclSapphireMbps = 22'000;
// What one channel (a thread block) copies at most, by the steepest entries of NCCL's search.
constexpr double kChannelGbps = 40;
constexpr double kChannelGbpsHopper = 60;
// NCCL's base latency of a send or receive over shared memory and its kernel.
constexpr double kMessageLatencyUs = 10;
constexpr int kMessageChannels = 2;

double effective_gbps(const Topology& topology, const LinkGraph& graph, const Link& link) {
  switch (link.kind) {
    case LinkKind::kSocket: {
      const LinkNode& node = graph.nodes[static_cast<size_t>(link.from)];
      if (node.kind != LinkNode::Kind::kCpu) {
        return link.capacity_gbps;
      }
      const Cpu& cpu = topology.cpus[static_cast<size_t>(node.index)];
      if (is_amd(cpu)) {
        return std::max(link.capacity_gbps, kXgmiGbps);
      }
      if (is_intel(cpu)) {
        return std::max(link.capacity_gbps,
                        socket_mbps(cpu) >= kNcclSapphireMbps ? kUpiSapphireGbps : kUpiGbps);
      }
      return link.capacity_gbps;
    }
    case LinkKind::kNvlink:
    case LinkKind::kNvswitch: {
      for (const int end : {link.from, link.to}) {
        const LinkNode& node = graph.nodes[static_cast<size_t>(end)];
        if (node.kind == LinkNode::Kind::kGpu) {
          const int capability = topology.gpus[static_cast<size_t>(node.index)].compute_capability;
          return link.capacity_gbps * (capability < 80 ? kNvlinkEfficiencyV100 : kNvlinkEfficiency);
        }
      }
      return link.capacity_gbps * kNvlinkEfficiency;
    }
    default:
      return link.capacity_gbps;
  }
}

bool over_pcie(LinkKind kind) { return kind == LinkKind::kPcie || kind == LinkKind::kSwitchUplink; }

double wire_factor(int protocol) {
  return protocol == kLl ? 2.0 : protocol == kLl128 ? 128.0 / 120.0 : 1.0;
}

std::vector<int> in_rank_order(int n) {
  std::vector<int> order(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    order[static_cast<size_t>(i)] = i;
  }
  return order;
}

}  // namespace

/// Adds up bytes by link.
class CommunicationModel::Loads {
 public:
  Loads(const CommunicationModel& model, double wire)
      : model_(model), wire_(wire), bytes_(model.graph_.links.size(), 0.0) {}

  void add(int from_gpu, int to_gpu, double bytes) {
    if (from_gpu == to_gpu) {
      return;
    }
    const Route& route =
        model_.graph_.routes[static_cast<size_t>(from_gpu)][static_cast<size_t>(to_gpu)];
    const double host = route.type >= PathType::kPhb ? 1.0 / kHostMemoryEfficiency : 1.0;
    for (const int link : route.links) {
      const bool pcie = over_pcie(model_.graph_.links[static_cast<size_t>(link)].kind);
      bytes_[static_cast<size_t>(link)] +=
          bytes * wire_ * (pcie ? host * route.pcie_overhead : 1.0);
    }
    busiest_edge_ = std::max(busiest_edge_, bytes * wire_);
  }

  std::vector<LinkLoad> take() const {
    std::vector<LinkLoad> loads;
    for (size_t link = 0; link < bytes_.size(); ++link) {
      if (bytes_[link] > 0) {
        loads.push_back({static_cast<int>(link), bytes_[link]});
      }
    }
    return loads;
  }

  /// Most bytes of one channel between two neighbours.
  double busiest_edge() const { return busiest_edge_; }

 private:
  const CommunicationModel& model_;
  double wire_;
  std::vector<double> bytes_;
  double busiest_edge_ = 0;
};

uint64_t call_bytes(const CollectiveCall& call, int n_ranks) {
  const uint64_t bytes = call.count * trace::bytes_of(call.type);
  switch (call.function) {
    case CollectiveFunction::kAllGather:
    case CollectiveFunction::kReduceScatter:
    case CollectiveFunction::kAllToAll:
    case CollectiveFunction::kGather:
    case CollectiveFunction::kScatter:
      return bytes * static_cast<uint64_t>(std::max(1, n_ranks));
    default:
      return bytes;
  }
}

std::optional<config::Collective> collective_of(CollectiveFunction function) {
  switch (function) {
    case CollectiveFunction::kAllReduce:
      return config::Collective::kAllReduce;
    case CollectiveFunction::kAllGather:
      return config::Collective::kAllGather;
    case CollectiveFunction::kReduceScatter:
      return config::Collective::kReduceScatter;
    case CollectiveFunction::kBroadcast:
      return config::Collective::kBroadcast;
    case CollectiveFunction::kReduce:
      return config::Collective::kReduce;
    default:
      return std::nullopt;
  }
}

CommunicationModel::CommunicationModel(const Topology& topology)
    : topology_(topology), graph_(build_link_graph(topology)) {
  capacities_.reserve(graph_.links.size());
  for (const Link& link : graph_.links) {
    capacities_.push_back(effective_gbps(topology_, graph_, link));
  }
}

CommunicationCost CommunicationModel::price(const StockPlan& plan, const std::vector<int>& gpus,
                                            const CollectiveCall& call, int max_channels) const {
  const int n = static_cast<int>(gpus.size());
  const double size = static_cast<double>(call_bytes(call, n));
  const auto gpu = [&](int rank) { return gpus[static_cast<size_t>(rank)]; };
  CommunicationCost cost;

  const std::optional<config::Collective> row = collective_of(call.function);
  if (!row) {  // NCCL carries these out as messages between the ranks
    Loads loads(*this, 1.0);
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        const bool moves = call.function == CollectiveFunction::kAllToAll ||
                           (call.function == CollectiveFunction::kGather && to == call.root) ||
                           (call.function == CollectiveFunction::kScatter && from == call.root);
        if (moves) {
          loads.add(gpu(from), gpu(to), size / n);
        }
      }
    }
    cost.algorithm = "P2P/Simple";
    cost.channels = kMessageChannels;
    cost.latency_us = kMessageLatencyUs;
    cost.loads = loads.take();
    return cost;
  }

  const uint64_t bytes = call_bytes(call, n);
  const Choice choice = choose(plan, cost_table(plan, *row, bytes), *row, bytes, max_channels);
  const bool tree = choice.algorithm == kTree;
  const std::vector<std::vector<int>>& channels = tree ? plan.tree_channels : plan.ring_channels;
  const std::vector<int> plain = in_rank_order(n);
  const int used = std::max(
      1, channels.empty() ? 1 : std::min(choice.channels, static_cast<int>(channels.size())));
  Loads loads(*this, wire_factor(choice.protocol));
  for (int channel = 0; channel < used; ++channel) {
    const std::vector<int>& order =
        channels.empty() ? plain : channels[static_cast<size_t>(channel)];
    const double share = size / used;
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t next = (i + 1) % order.size();
      const int from = gpu(order[i]), to = gpu(order[next]);
      if (tree) {  // a chain: sums travel towards its first entry, results away from it
        if (next != 0) {
          loads.add(from, to, share);
          loads.add(to, from, share);
        }
        continue;
      }
      switch (*row) {
        case config::Collective::kAllReduce:
          loads.add(from, to, share * 2 * (n - 1) / n);
          break;
        case config::Collective::kBroadcast:  // all edges but the one that ends at the root
          if (order[next] != call.root) {
            loads.add(from, to, share);
          }
          break;
        case config::Collective::kReduce:  // all but the one that starts there
          if (order[i] != call.root) {
            loads.add(from, to, share);
          }
          break;
        default:
          loads.add(from, to, share * (n - 1) / n);
          break;
      }
    }
  }
  const int capability =
      n > 0 ? topology_.gpus[static_cast<size_t>(gpus.front())].compute_capability : 0;
  cost.algorithm =
      std::string(algorithm_name(choice.algorithm)) + "/" + protocol_name(choice.protocol);
  cost.channels = used;
  cost.latency_us =
      plan.latency_us[static_cast<size_t>(*row)][static_cast<size_t>(choice.algorithm)]
                     [static_cast<size_t>(choice.protocol)];
  cost.loads = loads.take();
  cost.least_us =
      loads.busiest_edge() / ((capability >= 90 ? kChannelGbpsHopper : kChannelGbps) * 1e3);
  return cost;
}

CommunicationCost CommunicationModel::price_message(int from_gpu, int to_gpu,
                                                    uint64_t bytes) const {
  CommunicationCost cost;
  Loads loads(*this, 1.0);
  loads.add(from_gpu, to_gpu, static_cast<double>(bytes));
  cost.algorithm = "P2P/Simple";
  cost.channels = kMessageChannels;
  cost.latency_us = kMessageLatencyUs;
  cost.loads = loads.take();
  return cost;
}

double CommunicationModel::alone_us(const CommunicationCost& cost) const {
  double time = cost.least_us;
  for (const LinkLoad& load : cost.loads) {
    const double capacity = std::max(1e-3, capacities_[static_cast<size_t>(load.link)]);
    time = std::max(time, load.bytes / (capacity * 1e3));
  }
  return cost.latency_us + time;
}

double CommunicationModel::host_gbps(int gpu) const {
  const LinkNode& node =
      graph_.nodes[static_cast<size_t>(graph_.gpu_nodes[static_cast<size_t>(gpu)])];
  for (const int link : node.out) {
    if (over_pcie(graph_.links[static_cast<size_t>(link)].kind)) {
      return capacities_[static_cast<size_t>(link)];
    }
  }
  return 0;
}

double CommunicationModel::best_peer_gbps(int gpu) const {
  double best = 0;
  for (const Route& route : graph_.routes[static_cast<size_t>(gpu)]) {
    double narrowest = route.links.empty() ? 0 : HUGE_VAL;
    for (const int link : route.links) {
      narrowest = std::min(narrowest, capacities_[static_cast<size_t>(link)]);
    }
    best = std::max(best, narrowest);
  }
  return best;
}

}  // namespace braid::model
