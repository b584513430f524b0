#include "model/topology.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace braid::model {
namespace {

constexpr uint32_t kNvSwitchClass = 0x068000;

/// Distinct other GPUs that a GPU has NVLink to.
std::set<int> nvlink_peers(const Topology& topology, int gpu) {
  std::set<int> peers;
  for (const auto& link : topology.gpus[gpu].nvlinks) {
    if (link.target_gpu >= 0 && link.target_gpu != gpu) {
      peers.insert(link.target_gpu);
    }
  }
  return peers;
}

bool reaches_nvswitch(const Gpu& gpu) {
  return std::any_of(gpu.nvlinks.begin(), gpu.nvlinks.end(),
                     [](const NvLink& link) { return link.target_class == kNvSwitchClass; });
}

/// True when NVLinks from GPU to GPU join all GPUs into one piece.
bool joined_by_nvlink(const std::vector<std::set<int>>& peers) {
  std::set<int> seen = {0};
  std::vector<int> open = {0};
  while (!open.empty()) {
    const int gpu = open.back();
    open.pop_back();
    for (const int peer : peers[gpu]) {
      if (seen.insert(peer).second) {
        open.push_back(peer);
      }
    }
  }
  return seen.size() == peers.size();
}

}  // namespace

std::vector<int> Topology::by_dev() const {
  std::vector<int> order(gpus.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    const int host_a = cpus[gpus[a].cpu].host, host_b = cpus[gpus[b].cpu].host;
    return host_a != host_b ? host_a < host_b : gpus[a].dev < gpus[b].dev;
  });
  return order;
}

Topology subset_topology(const Topology& topology, const std::vector<int>& gpu_indices) {
  Topology subset = topology;
  const std::set<int> keep(gpu_indices.begin(), gpu_indices.end());
  std::vector<int> new_index(topology.gpus.size(), -1);
  subset.gpus.clear();
  for (size_t g = 0; g < topology.gpus.size(); ++g) {
    if (keep.count(static_cast<int>(g)) != 0) {
      new_index[g] = static_cast<int>(subset.gpus.size());
      subset.gpus.push_back(topology.gpus[g]);
    }
  }
  for (auto& gpu : subset.gpus) {
    std::vector<NvLink> links;
    for (auto link : gpu.nvlinks) {
      if (link.target_gpu >= 0) {
        link.target_gpu = new_index[link.target_gpu];
        if (link.target_gpu < 0) {
          continue;
        }
      }
      links.push_back(std::move(link));
    }
    gpu.nvlinks = std::move(links);
  }
  return subset;
}

std::string class_of(const Topology& topology) {
  std::vector<std::set<int>> peers;
  size_t linked = 0, paired = 0, switched = 0;
  for (size_t g = 0; g < topology.gpus.size(); ++g) {
    peers.push_back(nvlink_peers(topology, static_cast<int>(g)));
    linked += peers[g].empty() ? 0 : 1;
    paired += peers[g].size() == 1 ? 1 : 0;
    switched += reaches_nvswitch(topology.gpus[g]) ? 1 : 0;
  }
  const size_t all = peers.size();
  if (switched == all && linked == 0) {
    return "nvswitch";
  }
  if (linked == 0 && switched == 0) {
    return "pcie";
  }
  if (paired == all && switched == 0) {
    const bool mutual = std::all_of(peers.begin(), peers.end(), [&](const std::set<int>& peer) {
      return peers[*peers[*peer.begin()].begin()] == peer;
    });
    return mutual ? "bridged-pairs" : "mixed";
  }
  return switched == 0 && joined_by_nvlink(peers) ? "cube-mesh" : "mixed";
}

}  // namespace braid::model
