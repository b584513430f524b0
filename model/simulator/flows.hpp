// Running transfers that share directed links.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cost/communication.hpp"

namespace braid::model {

/// The transfers that run at one time. A transfer puts fixed amounts of bytes on several links and
/// advances on all of them at once; where links are scarce, all that use the scarcest one are
/// slowed by the same factor against running alone, and the rest share what is left (progressive
/// filling, which gives the max-min fair slow-down).
class FlowNetwork {
 public:
  /// `capacity_gbps` by link id; `bandwidth_factor` scales them all.
  FlowNetwork(std::vector<double> capacity_gbps, double bandwidth_factor);

  /// Time the transfer takes when alone: its most loaded link, at least `least_us`.
  double alone_us(const std::vector<LinkLoad>& loads, double least_us) const;

  /// Starts a transfer; `token` comes back from take_finished.
  void start(double now_us, uint64_t token, std::vector<LinkLoad> loads, double least_us);

  bool empty() const { return flows_.empty(); }
  /// When the next transfer ends if none starts before; infinity when none runs.
  double next_end_us() const;
  /// Removes and returns the tokens of transfers that have ended by `now_us`, in order of start.
  std::vector<uint64_t> take_finished(double now_us);

 private:
  struct Flow {
    uint64_t token = 0;
    std::vector<LinkLoad> loads;
    double alone_us = 0;
    double remaining = 1;  // fraction
    double rate = 0;       // fraction a µs
  };

  void advance(double now_us);
  void share();

  std::vector<double> capacity_;  // bytes a µs
  std::vector<Flow> flows_;
  double now_us_ = 0;
  // Scratch by link, kept to avoid allocation.
  std::vector<double> demand_, used_;
  std::vector<int> touched_;
};

}  // namespace braid::model
