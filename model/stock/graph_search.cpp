#include "model/stock/graph_search.hpp"

#include <algorithm>
#include <numeric>

namespace braid::model::stock {
namespace {

// Step budgets, and the bandwidths tried inside a host, in MB/s (search.cc of 2.28.9).
constexpr int kAllBudget = 1 << 19;
constexpr int kOneBudget = 1 << 14;
constexpr int kSameBudget = 1 << 8;
const std::vector<Mbps> kSpeeds = {40000, 30000, 20000, 18000, 15000, 12000, 10000,
                                   9000,  7000,  6000,  5000,  4000,  3000};
const std::vector<Mbps> kSpeedsHopper = {60000, 50000, 40000, 30000, 24000, 20000,
                                         15000, 12000, 11000, 6000,  3000};
const std::vector<Mbps> kSpeedsBlackwell = {90000, 80000, 70000, 60000, 50000, 40000,
                                            30000, 24000, 20000, 19000, 18000};

const std::vector<Mbps>& speeds_for(int compute_capability) {
  return compute_capability >= 100  ? kSpeedsBlackwell
         : compute_capability >= 90 ? kSpeedsHopper
                                    : kSpeeds;
}

class Finder {
 public:
  Finder(const SearchBox& box, Pattern pattern, int min_channels, int max_channels)
      : box_(box), speeds_(speeds_for(box.min_compute_capability)) {
    best_.pattern = pattern;
    best_.min_channels = min_channels;
    best_.max_channels = max_channels;
    best_.type = box.nearest;
    // Two NVLink islands: Tree will do well but needs two channels, and Ring has to have as many.
    if (pattern == Pattern::kRing && box.two_nvlink_islands && max_channels >= 2 &&
        min_channels == 1) {
      best_.min_channels = 2;
    }
    next_ = best_;
  }

  ChannelGraph find() {
    start_speed();
    do {
      search();
    } while (!good_enough() && relax());
    double_channels();
    begin_raising();
    while (raise()) {
      search();
    }
    return result();
  }

 private:
  /// Begins with the highest speed that some path, and some GPU in sum, can carry.
  void start_speed() {
    double total = static_cast<double>(box_.total);
    if (box_.n_gpus > 1 && next_.pattern != Pattern::kRing) {
      total *= static_cast<double>(box_.n_gpus) / (box_.n_gpus - 1);
    }
    speed_ = 0;
    while (speed_ + 1 < speeds_.size() &&
           (speeds_[speed_] > box_.widest_path ||
            static_cast<double>(speeds_[speed_] * next_.min_channels) > total)) {
      ++speed_;
    }
    set_speed();
  }

  void set_speed() { next_.mbps_intra = next_.mbps_inter = speeds_[speed_]; }

  void search() {
    const int budget = next_.same_channels ? kSameBudget : kOneBudget;
    all_budget_ -= budget;
    end_ = search_channels(box_, next_, budget, best_);
  }

  bool good_enough() const {
    return end_.outcome == Outcome::kPerfect ||
           static_cast<Mbps>(best_.channels.size()) * best_.mbps_inter >= box_.total;
  }

  /// Chooses the next, easier thing to look for; false when what was found will do.
  bool relax() {
    // Channels that differ, but not through the socket links of AMD hosts.
    if (next_.same_channels && !(box_.amd && next_.type == PathType::kSys)) {
      next_.same_channels = false;
      return true;
    }
    next_.same_channels = true;

    all_budget_ += end_.steps_left;
    if (all_budget_ < 0 && !best_.channels.empty()) {
      return false;
    }
    if (box_.min_compute_capability >= 90 && next_.pattern == Pattern::kBalancedTree) {
      next_.pattern = Pattern::kTree;
      return true;
    }
    next_.pattern = best_.pattern;

    if (next_.type < box_.farthest && (best_.channels.empty() || next_.type < best_.type)) {
      next_.type = static_cast<PathType>(static_cast<int>(next_.type) + 1);
      return true;
    }
    next_.type = box_.nearest;

    const bool more = speed_ + 1 < speeds_.size();
    if (more && (best_.channels.empty() || speeds_[speed_ + 1] * 100 > best_.mbps_inter * 49)) {
      ++speed_;
      set_speed();
      return true;
    }
    return false;
  }

  /// Fast channels are split in two at half the speed: one channel (one SM) does not fill them.
  void double_channels() {
    const int n = static_cast<int>(best_.channels.size());
    const bool many_on_new_gpu =
        box_.min_compute_capability > 80 && best_.mbps_intra < 50000 && n > 4;
    if (n == 0 || best_.mbps_intra < 25000 || many_on_new_gpu) {
      return;
    }
    const int doubled = std::min(2 * n, best_.max_channels);
    for (int c = n; c < doubled; ++c) {
      best_.channels.push_back(best_.channels[c - n]);
    }
    const int factor = (doubled + n - 1) / n;
    best_.mbps_intra /= factor;
    best_.mbps_inter /= factor;
  }

  void begin_raising() {
    next_ = best_;
    next_.min_channels = static_cast<int>(best_.channels.size());
    speed_ = 0;
    while (speed_ + 1 < speeds_.size() && speeds_[speed_] > best_.mbps_inter) {
      ++speed_;
    }
    set_speed();
    end_ = {Outcome::kPerfect, 0};
  }

  /// The same channels at the next higher speed; false when no further one is tried.
  bool raise() {
    if (end_.outcome == Outcome::kTimeout || speed_ == 0) {
      return false;
    }
    if (next_.pattern == Pattern::kRing) {
      --speed_;
      set_speed();
      return true;
    }
    if (next_.mbps_intra == best_.mbps_intra && next_.mbps_intra < 2 * next_.mbps_inter) {
      next_.mbps_intra = speeds_[--speed_];
      return true;
    }
    return false;
  }

  ChannelGraph result() const {
    ChannelGraph graph;
    graph.pattern = static_cast<int>(best_.pattern);
    graph.same_channels = best_.same_channels;
    if (best_.channels.empty()) {
      graph.channels.emplace_back(box_.n_gpus);
      std::iota(graph.channels[0].begin(), graph.channels[0].end(), 0);
      graph.speed_intra_gbps = graph.speed_inter_gbps = 0.1;
      graph.type_intra = graph.type_inter = PathType::kSys;
      graph.fell_back_to_simple_order = true;
      return graph;
    }
    graph.channels = best_.channels;
    graph.speed_intra_gbps = static_cast<double>(best_.mbps_intra) / 1000;
    graph.speed_inter_gbps = static_cast<double>(best_.mbps_inter) / 1000;
    graph.type_intra = best_.type;
    return graph;
  }

  const SearchBox& box_;
  const std::vector<Mbps>& speeds_;
  size_t speed_ = 0;
  int all_budget_ = kAllBudget;
  SearchEnd end_;
  Attempt next_, best_;
};

}  // namespace

ChannelGraph find_graph(const SearchBox& box, Pattern pattern, int min_channels, int max_channels) {
  return Finder(box, pattern, min_channels, max_channels).find();
}

}  // namespace braid::model::stock
