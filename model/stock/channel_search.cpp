#include "model/stock/channel_search.hpp"

#include <algorithm>
#include <tuple>

namespace braid::model::stock {
namespace {

bool is_pcie(LinkKind kind) { return kind == LinkKind::kPcie || kind == LinkKind::kSwitchUplink; }

class Search {
 public:
  Search(const SearchBox& box, const Attempt& attempt, int budget, Attempt& best)
      : box_(box), at_(attempt), best_(best), free_(box.capacities), budget_(budget) {
    at_.channels.assign(at_.max_channels, std::vector<int>(box.n_gpus, -1));
    used_.assign(at_.max_channels, std::vector<bool>(box.n_gpus, false));
  }

  SearchEnd run() {
    start_channel();
    if (perfect_) {
      return {Outcome::kPerfect, 0};
    }
    return {budget_ == 0 ? Outcome::kTimeout : Outcome::kExhausted, budget_};
  }

 private:
  enum class Order { kSearch, kFile, kRepeat };

  /// Begins channel number `n_`: file order (the first) or the previous channel again, then, unless
  /// the channels must be the same, every GPU as start.
  void start_channel() {
    if (n_ == 0) {
      place(-1, 0, 0, Order::kFile);
    } else {
      place(-1, at_.channels[n_ - 1][0], 0, Order::kRepeat);
    }
    if (!at_.same_channels || n_ == 0) {
      for (int gpu = 0; gpu < box_.n_gpus; ++gpu) {
        place(-1, gpu, 0, Order::kSearch);
      }
    }
  }

  /// Puts `gpu` at `step` of the channel, goes on from there, and takes it back.
  void place(int previous, int gpu, int step, Order order) {
    if (previous >= 0 && !take(previous, gpu)) {
      return;
    }
    const int channel = n_;
    used_[channel][gpu] = !used_[channel][gpu];
    go_on(gpu, step, order);
    used_[channel][gpu] = !used_[channel][gpu];
    if (previous >= 0) {
      give_back(previous, gpu);
    }
  }

  void go_on(int gpu, int step, Order order) {
    if (!count_step()) {
      return;
    }
    auto& channel = at_.channels[n_];
    channel[step] = gpu;
    if (step < box_.n_gpus - 1) {
      switch (order) {
        case Order::kFile:
          place(gpu, step + 1, step + 1, order);
          break;
        case Order::kRepeat:
          place(gpu, at_.channels[n_ - 1][step + 1], step + 1, order);
          break;
        case Order::kSearch:
          for (const int next : candidates_after(gpu)) {
            place(gpu, next, step + 1, order);
          }
          break;
      }
    } else if (at_.pattern != Pattern::kRing) {
      finish_channel();
    } else if (const int first = channel[0]; take(gpu, first)) {
      finish_channel();
      give_back(gpu, first);
    }
  }

  void finish_channel() {
    if (!count_step()) {
      return;
    }
    ++n_;
    if (is_better()) {
      best_ = at_;
      best_.channels.resize(n_);
      if (n_ == at_.max_channels) {
        perfect_ = true;
      }
    }
    if (n_ < at_.max_channels) {
      start_channel();
    }
    --n_;
  }

  bool is_better() const {
    if (n_ < at_.min_channels) {
      return false;
    }
    const Mbps mine = n_ * at_.mbps_intra, theirs = best_.total_intra();
    return mine != theirs ? mine > theirs : at_.pattern == best_.pattern && at_.hops < best_.hops;
  }

  bool count_step() {
    if (perfect_ || budget_ <= 0) {
      return false;
    }
    --budget_;
    return true;
  }

  /// Unused GPUs in the order to try them: widest path (whole GB/s), fewest hops, next in the file.
  /// On NVSwitch only the neighbours in file order are tried: it likes few peers.
  std::vector<int> candidates_after(int gpu) const {
    const int n = box_.n_gpus;
    std::vector<std::tuple<Mbps, size_t, int, int>> scored;
    for (int i = 1; i < n; ++i) {
      const int other = (gpu + i) % n;
      const Route& route = box_.routes[gpu][other];
      if (!route.links.empty() && !used_[n_][other]) {
        scored.emplace_back(-(route.mbps / 1000), route.links.size(), i, other);
      }
    }
    std::sort(scored.begin(), scored.end());
    std::vector<int> order;
    for (const auto& candidate : scored) {
      order.push_back(std::get<3>(candidate));
    }
    if (!box_.nvswitch) {
      return order;
    }
    const int before = (gpu + n - 1) % n, after = (gpu + 1) % n;
    std::vector<int> wanted = {after};
    if (at_.pattern != Pattern::kTree && before != after) {
      wanted.insert(at_.pattern == Pattern::kRing ? wanted.begin() : wanted.end(), before);
    }
    std::erase_if(wanted, [&](int neighbour) {
      return std::find(order.begin(), order.end(), neighbour) == order.end();
    });
    return wanted;
  }

  /// Reserves the channel's bandwidth on the way; false (and nothing reserved) when it does not fit
  /// or the way is of a farther class than allowed. Chains carry data both ways.
  bool take(int from, int to) {
    const Route& route = box_.routes[from][to];
    if (route.type >= PathType::kDis || route.type > at_.type) {
      return false;
    }
    if (at_.pattern != Pattern::kRing && box_.routes[to][from].type > at_.type) {
      return false;
    }
    for (size_t i = 0; i < route.links.size(); ++i) {
      const Mbps cost = cost_on(route, route.links[i]);
      if (free_[route.links[i]] < cost) {
        release(route, i);
        return false;
      }
      free_[route.links[i]] -= cost;
    }
    at_.hops += static_cast<int>(route.links.size());
    return true;
  }

  void give_back(int from, int to) {
    const Route& route = box_.routes[from][to];
    release(route, route.links.size());
    at_.hops -= static_cast<int>(route.links.size());
  }

  void release(const Route& route, size_t n_links) {
    for (size_t i = 0; i < n_links; ++i) {
      free_[route.links[i]] += cost_on(route, route.links[i]);
    }
  }

  Mbps cost_on(const Route& route, int link) const {
    const bool overhead = route.pcie_overhead > 1 && is_pcie(box_.graph.links[link].kind);
    return overhead ? with_intel_overhead(at_.mbps_intra) : at_.mbps_intra;
  }

  const SearchBox& box_;
  Attempt at_;
  Attempt& best_;
  std::vector<Mbps> free_;
  std::vector<std::vector<bool>> used_;  // [channel][gpu]
  int n_ = 0;                            // channels complete
  int budget_;
  bool perfect_ = false;
};

/// True when the GPUs with direct NVLink fall into exactly two groups, each headed by its first
/// GPU.
bool has_two_nvlink_islands(const RouteTable& routes) {
  const size_t n = routes.size();
  std::vector<size_t> island(n), members(n, 0);
  for (size_t g = 0; g < n; ++g) {
    island[g] = g;
  }
  for (size_t g = 0; g < n; ++g) {
    for (size_t p = g + 1; p < n; ++p) {
      if (routes[g][p].type == PathType::kNvl) {
        island[p] = island[g];
      }
    }
  }
  for (const size_t head : island) {
    ++members[head];
  }
  return std::count_if(members.begin(), members.end(), [](size_t m) { return m > 1; }) == 2;
}

}  // namespace

SearchBox::SearchBox(const Topology& topology, const LinkGraph& link_graph,
                     const RouteTable& route_table)
    : graph(link_graph), routes(route_table), n_gpus(static_cast<int>(topology.gpus.size())) {
  for (const Link& link : graph.links) {
    capacities.push_back(link.mbps());
    nvswitch = nvswitch || link.kind == LinkKind::kNvswitch;
  }
  amd = is_amd(topology.cpus[topology.gpus.front().cpu]);
  two_nvlink_islands = has_two_nvlink_islands(routes);
  min_compute_capability = topology.gpus.front().compute_capability;
  for (int g = 0; g < n_gpus; ++g) {
    min_compute_capability = std::min(min_compute_capability, topology.gpus[g].compute_capability);
    Mbps nvlink = 0, pcie = 0;
    for (const int id : graph.nodes[graph.gpu_nodes[g]].out) {
      (is_pcie(graph.links[id].kind) ? pcie : nvlink) += capacities[id];
    }
    total = std::max({total, nvlink, pcie});
    for (int p = 0; p < n_gpus; ++p) {
      if (p != g) {
        nearest = std::min(nearest, routes[g][p].type);
        farthest = std::max(farthest, routes[g][p].type);
        widest_path = std::max(widest_path, routes[g][p].links.empty() ? 0 : routes[g][p].mbps);
      }
    }
  }
  if (n_gpus == 1) {
    widest_path = total = kLocalMbps;
    nearest = PathType::kLoc;
    farthest = PathType::kSys;
  }
}

SearchEnd search_channels(const SearchBox& box, const Attempt& attempt, int budget, Attempt& best) {
  return Search(box, attempt, budget, best).run();
}

}  // namespace braid::model::stock
