// What stock NCCL 2.28 does on a topology: rings, trees, channels, cost model and choice.
// Sources: nccl_facts A.5, D (search.cc, tuning.cc, connect.cc of 2.28.9).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/result.hpp"
#include "model/path_type.hpp"
#include "model/topology.hpp"

namespace braid::model {

/// A graph NCCL's search finds. Channels list ranks (position in the communicator) in order: a ring
/// closes from the last to the first; a tree channel is a chain rooted at its first entry.
struct ChannelGraph {
  int pattern = 4;
  std::vector<std::vector<int>> channels;             // before duplication
  double speed_intra_gbps = 0, speed_inter_gbps = 0;  // a channel
  PathType type_intra = PathType::kLoc, type_inter = PathType::kPix;
  bool same_channels = true;
  bool fell_back_to_simple_order = false;
};

/// Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT.
inline constexpr int kAlgorithms = 7;
/// LL, LL128, Simple.
inline constexpr int kProtocols = 3;
inline constexpr int kTree = 0, kRing = 1;
inline constexpr int kLl = 0, kLl128 = 1, kSimple = 2;

/// NCCL_* settings that change the outcome. Empty strings and 0: not set.
struct NcclSettings {
  std::string algo, proto;                 // NCCL_ALGO, NCCL_PROTO
  std::string graph_file;                  // NCCL_GRAPH_FILE
  std::string p2p_level;                   // NCCL_P2P_LEVEL; NCCL_P2P_DISABLE=1 gives "LOC"
  int min_channels = 0, max_channels = 0;  // NCCL_MIN/MAX_NCHANNELS (also _NRINGS, _CTAS)
};
/// From NAME → value pairs (a trace's settings); other names are passed over. Wrong values are
/// errors, also those NCCL itself would pass over in silence.
Result<NcclSettings> read_nccl_settings(
    const std::vector<std::pair<std::string, std::string>>& env);

/// A communicator as stock NCCL would set it up.
struct StockPlan {
  int n_ranks = 0;
  ChannelGraph ring, tree;
  /// All channels in use order, after duplication and limits: ring order and tree chain of each.
  std::vector<std::vector<int>> ring_channels, tree_channels;
  /// Threads of a Simple ring kernel (fewer on slow rings): NCCL's channel count depends on it.
  int ring_simple_threads = 512;
  /// Cost model: time = latency + bytes / bandwidth. [collective][algorithm][protocol]; bandwidth 0
  /// = disabled. Only AllReduce, AllGather, ReduceScatter, Broadcast, Reduce rows are used.
  std::array<std::array<std::array<double, kProtocols>, kAlgorithms>, config::kCollectiveCount>
      latency_us{}, bandwidth_gbps{};
  /// What a tuner plugin answers, where one is loaded: the first rule that matches leaves only the
  /// entry it names (or the cheapest of those it leaves open). Empty: stock.
  std::vector<config::TunerRule> tuner_rules;
};

/// Most GPUs of one communicator that plan_stock takes: NCCL's largest single host has 16.
inline constexpr int kMaxPlanRanks = 64;

/// Sets up a communicator over `gpus` (indices into topology.gpus, in rank order). All must be in
/// one host: NCCL's choices between hosts, and NVLS and CollNet, are not modelled. A graph file is
/// read each time, as NCCL does; what NCCL would reject in it, or hang on, is an error that says
/// so.
Result<StockPlan> plan_stock(const Topology& topology, const std::vector<int>& gpus,
                             const NcclSettings& settings);

using CostTable = std::array<std::array<float, kProtocols>, kAlgorithms>;
/// NCCL's cost table in µs; -1 = ignored. `bytes` is nccl-tests' size. `pipelined_ops`: collectives
/// of a group per channel (nccl_facts A.4). All -1 for AllToAll and SendRecv, which NCCL does not
/// choose.
CostTable cost_table(const StockPlan& plan, config::Collective collective, uint64_t bytes,
                     int pipelined_ops = 1);

struct Choice {
  int algorithm = kRing;
  int protocol = kSimple;
  int channels = 1;
  double time_us = 0;
};
/// The strictly smallest entry ≥ 0 in algorithm-major order, and the channels NCCL would use
/// (always the first ones) for a collective that is alone in its group. `max_channels`: a tuner's
/// answer, 0 = none. When every entry is ignored, where NCCL fails the call, algorithm and protocol
/// are -1.
Choice choose(const StockPlan& plan, const CostTable& table, config::Collective collective,
              uint64_t bytes, int max_channels = 0);

const char* algorithm_name(int algorithm);  // "Tree", "Ring", …
const char* protocol_name(int protocol);    // "LL", "LL128", "Simple"

}  // namespace braid::model
