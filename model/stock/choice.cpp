// NCCL's cost table and the choice it makes from it. Source: NCCL 2.28.9, src/graph/tuning.cc
// (ncclTopoGetAlgoTime) and src/enqueue.cc (topoGetAlgoInfo, scheduleCollTasksToPlan).
#include <algorithm>
#include <bit>

#include "model/stock_nccl.hpp"

namespace braid::model {
namespace {

using config::Collective;

/// Tree AllReduce bandwidth as measured, relative to the formula: by protocol and by power of two
/// of the size, from 64 B to 256 MiB.
constexpr int kTreeSizes = 23;
constexpr double kTreeCorrection[kProtocols][kTreeSizes] = {
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
     .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

/// Collectives of a group that one Tree launch pays the latency of once.
constexpr int kOpsPerTreeLaunch = 10;

/// Bytes of traffic below which a further channel is not worth it.
constexpr uint64_t kLeastTraffic = 16 << 10;

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

double tree_correction(int protocol, uint64_t bytes) {
  const int power = static_cast<int>(std::bit_width(bytes >> 6)) - 1;
  return power >= 0 && power < kTreeSizes ? kTreeCorrection[protocol][power] : 1.0;
}

/// Threads of a kernel before NCCL shrinks it for small sizes, and bytes per thread and channel
/// below which it uses fewer channels.
struct KernelShape {
  uint64_t threads, threshold;
};

KernelShape shape_of(const StockPlan& plan, int algorithm, int protocol) {
  switch (protocol) {
    case kLl:
      return {512, algorithm == kRing ? 8u * static_cast<unsigned>(plan.n_ranks) : 8u};
    case kLl128:
      return {640, 8};
    default:
      return {algorithm == kRing ? static_cast<uint64_t>(plan.ring_simple_threads) : 512, 64};
  }
}

/// Bytes each member moves per byte of the call's count.
uint64_t traffic_per_byte(Collective collective, int n_ranks) {
  switch (collective) {
    case Collective::kAllReduce:
      return 2;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return n_ranks;
    default:
      return 1;
  }
}

/// Channels over which NCCL spreads one collective when `wanted` of `all` are to be used: it cuts
/// the data into cells of 16 KiB of traffic and gives each channel a whole number of them.
int spread_over(Collective collective, uint64_t bytes, int n_ranks, int protocol, uint64_t wanted,
                uint64_t all) {
  uint64_t traffic_a_byte = traffic_per_byte(collective, n_ranks);
  const bool per_rank =
      collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  const uint64_t counted = per_rank ? bytes / n_ranks : bytes;
  if (protocol == kLl) {
    traffic_a_byte *= 4;  // LL sends a flag with every word, and slower
  }
  const uint64_t traffic = std::max(kLeastTraffic, counted * traffic_a_byte);
  const uint64_t a_channel = std::max(kLeastTraffic, traffic / wanted);
  const uint64_t cell = divide_up(divide_up(kLeastTraffic, traffic_a_byte), 16) * 16;
  const uint64_t cells = std::max<uint64_t>(1, divide_up(counted, cell));
  const uint64_t cells_a_channel = std::min(cells, divide_up(a_channel, cell * traffic_a_byte));
  return static_cast<int>(std::min(all, divide_up(cells, cells_a_channel)));
}

// As the tuner plugin does it: the cheapest usable entry among those the rule leaves open wins, and
// a rule that names nothing usable changes nothing.
void apply_tuner_rules(const StockPlan& plan, Collective collective, uint64_t bytes,
                       CostTable* table) {
  const auto rule = std::find_if(
      plan.tuner_rules.begin(), plan.tuner_rules.end(), [&](const config::TunerRule& candidate) {
        return (!candidate.collective || *candidate.collective == collective) &&
               candidate.bytes.contains(bytes) &&
               candidate.ranks.contains(static_cast<uint64_t>(plan.n_ranks)) &&
               candidate.nodes.contains(1);
      });
  if (rule == plan.tuner_rules.end()) {
    return;
  }
  float* best = nullptr;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      float& entry = (*table)[a][p];
      const bool named =
          (rule->algorithm == config::Algorithm::kAuto || static_cast<int>(rule->algorithm) == a) &&
          (rule->protocol == config::Protocol::kAuto || static_cast<int>(rule->protocol) == p);
      if (named && entry >= 0 && (best == nullptr || entry < *best)) {
        best = &entry;
      }
    }
  }
  if (best == nullptr) {
    return;
  }
  const float kept = *best;
  for (auto& row : *table) {
    row.fill(-1.0f);
  }
  *best = kept;
}

}  // namespace

CostTable cost_table(const StockPlan& plan, Collective collective, uint64_t bytes,
                     int pipelined_ops) {
  CostTable table;
  for (auto& row : table) {
    row.fill(-1.0f);
  }
  if (plan.n_ranks == 1) {
    table[kRing][kSimple] = 0;
    return table;
  }
  const auto row = static_cast<size_t>(collective);
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      double bandwidth = plan.bandwidth_gbps[row][a][p];
      if (bandwidth <= 0) {
        continue;
      }
      int latencies = pipelined_ops;
      if (a == kTree) {
        latencies = (pipelined_ops + kOpsPerTreeLaunch - 1) / kOpsPerTreeLaunch;
        if (collective == Collective::kAllReduce) {
          bandwidth *= tree_correction(p, bytes);
        }
      }
      table[a][p] = static_cast<float>(plan.latency_us[row][a][p] * latencies +
                                       static_cast<double>(bytes) / (1000 * bandwidth));
    }
  }
  apply_tuner_rules(plan, collective, bytes, &table);
  return table;
}

Choice choose(const StockPlan& plan, const CostTable& table, Collective collective, uint64_t bytes,
              int max_channels) {
  Choice choice{-1, -1, 0, 0};
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      const bool better = choice.algorithm < 0 || table[a][p] < static_cast<float>(choice.time_us);
      if (table[a][p] >= 0 && better) {
        choice.algorithm = a;
        choice.protocol = p;
        choice.time_us = table[a][p];
      }
    }
  }
  if (choice.algorithm < 0) {
    return choice;
  }
  const auto all = static_cast<uint64_t>(plan.ring_channels.size());
  uint64_t channels = all;
  const KernelShape shape = shape_of(plan, choice.algorithm, choice.protocol);
  while (channels > 1 && bytes < channels * shape.threads * shape.threshold) {
    --channels;
  }
  if (max_channels > 0) {
    channels = std::min(all, static_cast<uint64_t>(max_channels));
  }
  choice.channels = spread_over(collective, bytes, std::max(1, plan.n_ranks), choice.protocol,
                                std::max<uint64_t>(1, channels), std::max<uint64_t>(1, all));
  return choice;
}

}  // namespace braid::model
