// Setting up a communicator as stock NCCL does: rings, trees, channels, cost model.
#include <algorithm>
#include <set>

#include "model/link_graph.hpp"
#include "model/routes.hpp"
#include "model/stock/cost_model.hpp"
#include "model/stock/graph_file.hpp"
#include "model/stock/graph_search.hpp"
#include "model/stock/settings.hpp"
#include "model/stock_nccl.hpp"

namespace braid::model {
namespace {

using stock::Pattern;

constexpr int kMaxChannels = 64;        // of a communicator
constexpr int kMaxSearchChannels = 32;  // NCCL doubles them afterwards

Status check_gpus(const Topology& topology, const std::vector<int>& gpus) {
  if (gpus.empty() || gpus.size() > static_cast<size_t>(kMaxPlanRanks)) {
    return fail(topology.path, "a communicator of " + std::to_string(gpus.size()) +
                                   " GPUs; expected 1 to " + std::to_string(kMaxPlanRanks));
  }
  std::set<int> seen;
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= static_cast<int>(topology.gpus.size())) {
      return fail(topology.path, "GPU number " + std::to_string(gpu) + "; the file has " +
                                     std::to_string(topology.gpus.size()) + " GPUs");
    }
    if (!seen.insert(gpu).second) {
      return fail(topology.path, "GPU number " + std::to_string(gpu) + " is given to two ranks");
    }
    const auto host_of = [&](int g) { return topology.cpus[topology.gpus[g].cpu].host; };
    if (host_of(gpu) != host_of(gpus.front())) {
      return fail(topology.path,
                  "the GPUs of the communicator are in several hosts; stock NCCL is "
                  "modelled inside one host only");
    }
  }
  return {};
}

/// Turns indices of the subset's GPUs (file order) into ranks (order of `gpus`).
void to_ranks(const std::vector<int>& gpus, ChannelGraph& graph) {
  std::vector<int> sorted = gpus;
  std::sort(sorted.begin(), sorted.end());
  for (auto& channel : graph.channels) {
    for (int& member : channel) {
      const auto at = std::find(gpus.begin(), gpus.end(), sorted[member]);
      member = static_cast<int>(at - gpus.begin());
    }
  }
}

/// Doubles the first `n` channels as a block, cuts to the maximum and repeats up to the minimum.
std::vector<std::vector<int>> lay_out_channels(const ChannelGraph& graph, size_t n,
                                               const NcclSettings& settings) {
  std::vector<std::vector<int>> channels(graph.channels.begin(), graph.channels.begin() + n);
  channels.insert(channels.end(), graph.channels.begin(), graph.channels.begin() + n);
  const auto limit = [](int value) {
    return static_cast<size_t>(std::clamp(value, 1, kMaxChannels));
  };
  const size_t most = settings.max_channels > 0 ? limit(settings.max_channels) : kMaxChannels;
  channels.resize(std::min(channels.size(), most));
  const size_t before = channels.size();
  const size_t least = settings.min_channels > 0 ? limit(settings.min_channels) : 1;
  for (size_t c = before; c < least; ++c) {
    channels.push_back(channels[c - before]);
  }
  return channels;
}

}  // namespace

Result<StockPlan> plan_stock(const Topology& topology, const std::vector<int>& gpus,
                             const NcclSettings& settings) {
  if (const auto checked = check_gpus(topology, gpus); !checked) {
    return tl::unexpected(checked.error());
  }
  const auto algorithms = stock::parse_algorithms(settings.algo);
  const auto protocols = stock::parse_protocols(settings.proto);
  for (const auto* selection : {&algorithms, &protocols}) {
    if (!*selection) {
      return tl::unexpected(selection->error());
    }
  }
  const Topology box = subset_topology(topology, gpus);
  const auto level = stock::parse_p2p_level(settings.p2p_level, default_p2p_level(box));
  if (!level) {
    return tl::unexpected(level.error());
  }
  std::map<int, ChannelGraph> from_file;
  if (!settings.graph_file.empty()) {
    std::vector<int> devs;
    for (const int gpu : gpus) {
      devs.push_back(topology.gpus[gpu].dev);
    }
    auto graphs = stock::read_graph_file(settings.graph_file, devs);
    if (!graphs) {
      return tl::unexpected(graphs.error());
    }
    from_file = std::move(*graphs);
  }

  const LinkGraph graph = build_link_graph(box, *level);
  const RouteTable routes = find_routes(graph, box, {*level, true});
  const stock::SearchBox search_box(box, graph, routes);
  const auto find = [&](int id, Pattern pattern, int least, int most) {
    if (const auto given = from_file.find(id); given != from_file.end()) {
      return given->second;
    }
    auto found = stock::find_graph(search_box, pattern, least, most);
    to_ranks(gpus, found);
    return found;
  };

  StockPlan plan;
  plan.n_ranks = static_cast<int>(gpus.size());
  plan.ring = find(0, Pattern::kRing, 1, kMaxSearchChannels);
  const int n_rings = static_cast<int>(plan.ring.channels.size());
  const auto tree_pattern = plan.n_ranks == 1 ? Pattern::kTree : Pattern::kBalancedTree;
  plan.tree = find(1, tree_pattern, n_rings, n_rings);
  const size_t n = std::min(plan.ring.channels.size(), plan.tree.channels.size());
  plan.ring_channels = lay_out_channels(plan.ring, n, settings);
  plan.tree_channels = lay_out_channels(plan.tree, n, settings);

  stock::GpuClass gpu_class{1 << 20, 0};
  for (const auto& gpu : box.gpus) {
    gpu_class.min_compute_capability =
        std::min(gpu_class.min_compute_capability, gpu.compute_capability);
    gpu_class.max_compute_capability =
        std::max(gpu_class.max_compute_capability, gpu.compute_capability);
  }
  stock::fill_cost_model(gpu_class, *algorithms, *protocols, plan);
  return plan;
}

}  // namespace braid::model
