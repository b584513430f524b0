#include "vgpu/nccl/cost_constants.hpp"

#include <algorithm>

namespace braid::vgpu::nccl {
namespace {

using config::Collective;

constexpr int kNvlink = 0, kPcie = 1;  // rows of hardware_latencies
constexpr int kOneNode = 0;

int generation(int compute_capability) {
  if (compute_capability >= 100) {
    return 3;
  }
  return compute_capability >= 90 ? 2 : (compute_capability >= 80 ? 1 : 0);
}

int link_row(const model::ChannelGraph& graph) {
  return graph.type_intra == model::PathType::kNvl ? kNvlink : kPcie;
}

/// Latency by the model's formula: a base and a hop for each step (tuning.cc, one node).
double latency(const abi::TunerConstants& constants, const model::StockPlan& plan,
               Collective collective, int algorithm, int protocol) {
  const int ranks = plan.n_ranks;
  const auto& graph = algorithm == model::kTree ? plan.tree : plan.ring;
  const auto& hops = constants.hardware_latencies[link_row(graph)];
  const double base = constants.base_latencies[algorithm][protocol];
  if (algorithm == model::kTree) {
    return base + 2 * (ranks - 1) * hops[model::kTree][protocol];
  }
  const double hop = hops[model::kRing][protocol];
  switch (collective) {
    case Collective::kAllReduce:
      return base + 2 * (ranks - 1) * hop;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return base + (ranks - 1) * hop;
    default:
      if (plan.ring.same_channels) {
        return base + hop;
      }
      return base + ranks * (protocol == model::kSimple ? hops[model::kTree][protocol] : hop);
  }
}

/// Bandwidth of all channels before the collective's own factor, which constants do not touch.
double raw_bandwidth(const abi::TunerConstants& constants, const model::StockPlan& plan, int gpu,
                     int algorithm, int protocol) {
  const auto channels =
      static_cast<double>(std::min(plan.ring.channels.size(), plan.tree.channels.size()));
  const double ll = constants.ll_max_bandwidths[gpu][kOneNode];
  if (algorithm == model::kRing) {
    const double all = channels * plan.ring.speed_intra_gbps;
    if (protocol == model::kLl) {
      return std::min(ll, all * 0.5);
    }
    return protocol == model::kLl128
               ? std::min(all * 0.92,
                          channels * constants.channel_max_ring_ll128_bandwidths[gpu][kOneNode])
               : all;
  }
  const double all = std::min(channels * plan.tree.speed_intra_gbps * 0.92,
                              channels * constants.channel_max_tree_bandwidths[gpu][kOneNode]);
  if (protocol == model::kLl) {
    return std::min(all / 3.8, ll);
  }
  return protocol == model::kLl128
             ? std::min(all * 7 / 9,
                        channels * constants.channel_max_tree_ll128_bandwidths[gpu][kOneNode])
             : all;
}

}  // namespace

abi::TunerConstants default_constants() {
  return {
      .base_latencies = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {}, {}, {}, {}, {8.0, 8.0, 8.0}},
      .hardware_latencies =
          {{{0.6, 1.25, 4.0},
            {0.6, 1.9, 3.4},
            {0, 0, 3.7},
            {0, 0, 2.8},
            {0, 0, 25},
            {0, 0, 25},
            {0, 0, 4.0}},
           {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4.0}},
           {{5.0, 8.5, 14},
            {2.7, 4.0, 14.0},
            {0, 0, 31},
            {0, 0, 30},
            {0, 0, 18},
            {0, 0, 20.9},
            {0, 0, 14}}},
      .ll_max_bandwidths = {{39.0, 39.0, 20.4},
                            {87.7, 22.5, 19.0},
                            {141.0, 45.0, 35.0},
                            {282.0, 90.0, 70.0}},
      .channel_max_ring_ll128_bandwidths = {{20.0, 20.0, 20.0},
                                            {20.0, 20.0, 20.0},
                                            {36.7, 36.7, 36.7},
                                            {73.4, 73.4, 73.4}},
      .channel_max_tree_ll128_bandwidths = {{20.0, 20.0, 20.0},
                                            {20.0, 20.0, 20.0},
                                            {36.7, 36.7, 29.0},
                                            {55.6, 31.67, 20.0}},
      .channel_max_tree_bandwidths = {{26.5, 18.5, 10.0},
                                      {24.0, 23.6, 17.8},
                                      {38.7, 41.4, 36.0},
                                      {70.0, 42.8, 24.0}},
      .channel_max_nvls_tree_bandwidths = {{26.5, 18.5, 10.0},
                                           {24.0, 23.6, 17.8},
                                           {0.0, 57.7, 45.5},
                                           {0.0, 96.0, 43.8}},
  };
}

void apply_constants(const abi::TunerConstants& constants, int compute_capability,
                     model::StockPlan* plan) {
  const abi::TunerConstants defaults = default_constants();
  const int gpu = generation(compute_capability);
  for (size_t row = 0; row < plan->latency_us.size(); ++row) {
    const auto collective = static_cast<Collective>(row);
    for (int algorithm : {model::kTree, model::kRing}) {
      for (int protocol = 0; protocol < model::kProtocols; ++protocol) {
        double& bandwidth = plan->bandwidth_gbps[row][static_cast<size_t>(algorithm)]
                                                [static_cast<size_t>(protocol)];
        if (bandwidth <= 0) {
          continue;
        }
        const double before = raw_bandwidth(defaults, *plan, gpu, algorithm, protocol);
        const double after = raw_bandwidth(constants, *plan, gpu, algorithm, protocol);
        bandwidth *= before > 0 ? after / before : 1;
        plan->latency_us[row][static_cast<size_t>(algorithm)][static_cast<size_t>(protocol)] +=
            latency(constants, *plan, collective, algorithm, protocol) -
            latency(defaults, *plan, collective, algorithm, protocol);
      }
    }
  }
}

}  // namespace braid::vgpu::nccl
