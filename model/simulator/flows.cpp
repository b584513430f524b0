#include "model/simulator/flows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace braid::model {
namespace {

constexpr double kDone = 1e-9;        // of a transfer: rounding
constexpr double kShortestUs = 1e-3;  // a transfer of no bytes
constexpr double kSlack = 1e-9;

}  // namespace

FlowNetwork::FlowNetwork(std::vector<double> capacity_gbps, double bandwidth_factor)
    : capacity_(std::move(capacity_gbps)) {
  for (double& capacity : capacity_) {
    capacity = std::max(1e-3, capacity * bandwidth_factor) * 1e3;
  }
  demand_.assign(capacity_.size(), 0);
  used_.assign(capacity_.size(), 0);
}

double FlowNetwork::alone_us(const std::vector<LinkLoad>& loads, double least_us) const {
  double time = std::max(kShortestUs, least_us);
  for (const LinkLoad& load : loads) {
    time = std::max(time, load.bytes / capacity_[static_cast<size_t>(load.link)]);
  }
  return time;
}

void FlowNetwork::start(double now_us, uint64_t token, std::vector<LinkLoad> loads,
                        double least_us) {
  advance(now_us);
  Flow flow;
  flow.token = token;
  flow.alone_us = alone_us(loads, least_us);
  flow.loads = std::move(loads);
  flows_.push_back(std::move(flow));
  share();
}

double FlowNetwork::next_end_us() const {
  double end = std::numeric_limits<double>::infinity();
  for (const Flow& flow : flows_) {
    end = std::min(end, now_us_ + std::max(0.0, flow.remaining) / flow.rate);
  }
  return end;
}

std::vector<uint64_t> FlowNetwork::take_finished(double now_us) {
  advance(now_us);
  std::vector<uint64_t> finished;
  for (const Flow& flow : flows_) {
    if (flow.remaining <= kDone) {
      finished.push_back(flow.token);
    }
  }
  if (!finished.empty()) {
    std::erase_if(flows_, [](const Flow& flow) { return flow.remaining <= kDone; });
    share();
  }
  return finished;
}

void FlowNetwork::advance(double now_us) {
  const double elapsed = now_us - now_us_;
  if (elapsed > 0) {
    for (Flow& flow : flows_) {
      flow.remaining -= flow.rate * elapsed;
    }
  }
  now_us_ = std::max(now_us_, now_us);
}

void FlowNetwork::share() {
  std::vector<Flow*> open;
  open.reserve(flows_.size());
  for (Flow& flow : flows_) {
    open.push_back(&flow);
    for (const LinkLoad& load : flow.loads) {
      const auto link = static_cast<size_t>(load.link);
      if (demand_[link] == 0) {
        touched_.push_back(load.link);
      }
      demand_[link] += load.bytes / flow.alone_us;
    }
  }
  while (!open.empty()) {
    // The scarcest link: the least factor by which those still open can run.
    double factor = 1;
    for (const int link : touched_) {
      const auto i = static_cast<size_t>(link);
      if (demand_[i] > 0) {
        factor = std::min(factor, std::max(0.0, capacity_[i] - used_[i]) / demand_[i]);
      }
    }
    factor = std::max(factor, 1e-9);
    const auto at_limit = [&](const Flow& flow) {
      return std::any_of(flow.loads.begin(), flow.loads.end(), [&](const LinkLoad& load) {
        const auto i = static_cast<size_t>(load.link);
        return demand_[i] * factor >= (capacity_[i] - used_[i]) * (1 - kSlack);
      });
    };
    std::vector<Flow*> settled, rest;
    for (Flow* flow : open) {
      (factor >= 1 || at_limit(*flow) ? settled : rest).push_back(flow);
    }
    if (settled.empty()) {  // rounding left no link exactly at its limit
      settled.swap(rest);
    }
    for (Flow* flow : settled) {
      flow->rate = factor / flow->alone_us;
      for (const LinkLoad& load : flow->loads) {
        const auto i = static_cast<size_t>(load.link);
        const double demand = load.bytes / flow->alone_us;
        demand_[i] = std::max(0.0, demand_[i] - demand);
        used_[i] += demand * factor;
      }
    }
    open.swap(rest);
  }
  for (const int link : touched_) {
    demand_[static_cast<size_t>(link)] = 0;
    used_[static_cast<size_t>(link)] = 0;
  }
  touched_.clear();
}

}  // namespace braid::model
