// The least time any algorithm needs for a collective on the wires of a box.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "model/link_capacities.hpp"
#include "model/link_graph.hpp"
#include "model/topology.hpp"

namespace braid::model {

struct Bound {
  double us_per_mb = 0;            // µs for 1e6 bytes
  std::string binding;             // the cut that decides: "PCIe links of the pair {gpu 0, gpu 1}"
  std::vector<int> binding_links;  // link ids of that cut
  double time_us(uint64_t bytes) const { return us_per_mb * static_cast<double>(bytes) / 1e6; }
  double algbw_gbps() const { return us_per_mb > 0 ? 1e3 / us_per_mb : 0; }
};

/// For AllReduce, ReduceScatter, AllGather, Broadcast and AllToAll over `gpus` (indices into
/// topology.gpus); latency is left out. Two kinds of argument are used and the larger one holds:
/// a cut (what must cross it over what it carries; the capacity is a minimum cut of the link graph)
/// and a partition into k parts, between which 2(k-1) times the bytes must travel for AllReduce and
/// k-1 times for AllGather and ReduceScatter. Parts are single GPUs, NVLink islands, and what hangs
/// below a switch, a socket or a host, and all cuts where there are at most 16 GPUs.
Bound bound_of(const Topology& topology, const LinkGraph& graph,
               const std::vector<LinkCapacity>& capacities, const std::vector<int>& gpus,
               config::Collective collective);

}  // namespace braid::model
