#include "model/stock/cost_model.hpp"

#include <algorithm>

#include "model/capacities.hpp"

namespace braid::model {

const char* algorithm_name(int algorithm) {
  constexpr const char* kNames[kAlgorithms] = {
      "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
  return algorithm >= 0 && algorithm < kAlgorithms ? kNames[algorithm] : "none";
}

const char* protocol_name(int protocol) {
  constexpr const char* kNames[kProtocols] = {"LL", "LL128", "Simple"};
  return protocol >= 0 && protocol < kProtocols ? kNames[protocol] : "none";
}

namespace stock {
namespace {

using config::Collective;

// All tables: [algorithm: Tree, Ring][protocol: LL, LL128, Simple], in µs.
constexpr double kBaseLatency[2][kProtocols] = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
constexpr double kNvlinkLatency[2][kProtocols] = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr double kPcieLatency[2][kProtocols] = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};

/// Limits inside one host by GPU generation, in GB/s.
struct GenerationLimits {
  double ll;                  // LL, all channels
  double ring_ll128_channel;  // a channel
  double tree_ll128_channel;
  double tree_channel;
};

GenerationLimits limits_for(int compute_capability) {
  if (compute_capability >= 100) {
    return {282.0, 73.4, 55.6, 70.0};
  }
  if (compute_capability >= 90) {
    return {141.0, 36.7, 36.7, 38.7};
  }
  if (compute_capability >= 80) {
    return {87.7, 20.0, 20.0, 24.0};
  }
  return {39.0, 20.0, 20.0, 26.5};
}

/// Messages that follow each other round the ring.
int ring_steps(Collective collective, int n_ranks) {
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (n_ranks - 1);
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return n_ranks - 1;
    default:
      return n_ranks;
  }
}

double hop_latency(const ChannelGraph& graph, int algorithm, int protocol) {
  return graph.type_intra == PathType::kNvl ? kNvlinkLatency[algorithm][protocol]
                                            : kPcieLatency[algorithm][protocol];
}

double ring_bandwidth(const GenerationLimits& limits, const ChannelGraph& ring, int channels,
                      int protocol) {
  const double all = channels * ring.speed_intra_gbps;
  switch (protocol) {
    case kLl:
      return std::min(limits.ll, all * 0.5);
    case kLl128:
      return std::min(all * 0.92, channels * limits.ring_ll128_channel);
    default:
      return all;
  }
}

double ring_latency(Collective collective, const ChannelGraph& ring, int n_ranks, int protocol) {
  const double base = kBaseLatency[kRing][protocol];
  const double hop = hop_latency(ring, kRing, protocol);
  const int steps = ring_steps(collective, n_ranks);
  if (collective != Collective::kBroadcast && collective != Collective::kReduce) {
    return base + steps * hop;
  }
  if (ring.same_channels) {
    return base + hop;
  }
  return base + steps * (protocol == kSimple ? hop_latency(ring, kTree, protocol) : hop);
}

double tree_bandwidth(const GenerationLimits& limits, const ChannelGraph& tree, int channels,
                      int protocol) {
  double all = std::min(channels * tree.speed_intra_gbps * 0.92, channels * limits.tree_channel);
  if (protocol == kLl) {
    all = std::min(all / 3.8, limits.ll);
  } else if (protocol == kLl128) {
    all = std::min(all * 7 / 9, channels * limits.tree_ll128_channel);
  }
  return tree.pattern == 3 ? all * 0.85 : all;
}

/// LL128 relies on 128-byte stores arriving whole: on by default over NVLink only.
bool ll128_is_safe(const GpuClass& gpus, const ChannelGraph& graph) {
  const PathType farthest_inter =
      gpus.min_compute_capability >= 90 ? PathType::kPxn : PathType::kPxb;
  return graph.type_inter <= farthest_inter && graph.type_intra <= PathType::kNvb &&
         gpus.min_compute_capability == gpus.max_compute_capability &&
         gpus.min_compute_capability >= 70;
}

bool is_enabled(Selected algorithm, Selected protocol, bool on_by_default) {
  return algorithm != Selected::kOff && protocol != Selected::kOff &&
         (protocol == Selected::kOn || on_by_default);
}

}  // namespace

Result<Selection> parse_algorithms(const std::string& text) {
  std::vector<std::string> names;
  for (int a = 0; a < kAlgorithms; ++a) {
    names.push_back(algorithm_name(a));
  }
  return parse_selection("NCCL_ALGO", text, names);
}

Result<Selection> parse_protocols(const std::string& text) {
  std::vector<std::string> names;
  for (int p = 0; p < kProtocols; ++p) {
    names.push_back(protocol_name(p));
  }
  return parse_selection("NCCL_PROTO", text, names);
}

void fill_cost_model(const GpuClass& gpus, const Selection& algorithms, const Selection& protocols,
                     StockPlan& plan) {
  const int n = plan.n_ranks;
  const int channels =
      static_cast<int>(std::min(plan.ring.channels.size(), plan.tree.channels.size()));
  const auto limits = limits_for(gpus.min_compute_capability);
  const bool slow_ring = channels * plan.ring.speed_intra_gbps * 1000 <= kSlowRingMbps;
  plan.ring_simple_threads = slow_ring ? 256 : 512;
  if (n <= 1) {
    return;
  }
  for (const auto collective :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
        Collective::kBroadcast, Collective::kReduce}) {
    const auto row = static_cast<size_t>(collective);
    for (int p = 0; p < kProtocols; ++p) {
      const auto enabled = [&](int algorithm, const ChannelGraph& graph) {
        return is_enabled(algorithms[row][algorithm], protocols[row][p],
                          p != kLl128 || ll128_is_safe(gpus, graph));
      };
      // Each byte of the result crosses the ring steps/n times.
      const double ring =
          ring_bandwidth(limits, plan.ring, channels, p) * n / ring_steps(collective, n);
      plan.bandwidth_gbps[row][kRing][p] = enabled(kRing, plan.ring) ? ring : 0;
      plan.latency_us[row][kRing][p] = ring_latency(collective, plan.ring, n, p);
      if (collective == Collective::kAllReduce) {
        // Up the chain and down again.
        const double tree = tree_bandwidth(limits, plan.tree, channels, p) / 2;
        plan.bandwidth_gbps[row][kTree][p] = enabled(kTree, plan.tree) ? tree : 0;
        plan.latency_us[row][kTree][p] =
            kBaseLatency[kTree][p] + 2 * (n - 1) * hop_latency(plan.tree, kTree, p);
      }
    }
  }
}

}  // namespace stock
}  // namespace braid::model
