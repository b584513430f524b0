// What one collective costs: latency, and the bytes it puts on each directed link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/result.hpp"
#include "model/link_graph.hpp"
#include "model/stock_nccl.hpp"
#include "model/topology.hpp"
#include "model/trace_format.hpp"

namespace braid::model {

/// Bytes that go over one directed link (index into LinkGraph::links).
struct LinkLoad {
  int link = 0;
  double bytes = 0;
};

/// A call as every rank of the communicator makes it.
struct CollectiveCall {
  trace::CollectiveFunction function = trace::CollectiveFunction::kAllReduce;
  uint64_t count = 0;  // as passed to the call
  trace::ElementType type = trace::ElementType::kFp32;
  int root = 0;
};

struct CommunicationCost {
  std::string algorithm;        // "Ring/Simple"
  int channels = 1;             // SMs held on each rank
  double latency_us = 0;        // before and between the bytes
  std::vector<LinkLoad> loads;  // by link, each once
  double least_us = 0;          // what the channels' own speed allows, whatever the links carry
};

/// nccl-tests' size of a call: the full tensor, so AllGather and ReduceScatter count all ranks.
uint64_t call_bytes(const CollectiveCall& call, int n_ranks);

/// The row of NCCL's cost table; Gather, Scatter, Send and Recv have none.
std::optional<config::Collective> collective_of(trace::CollectiveFunction function);

/// Prices collectives on a box. A collective's bytes follow the ring and chain orders of its
/// communicator's StockPlan over the routes of the link graph, so two communicators that meet on a
/// link share it. Latency is NCCL's own (StockPlan::latency_us). Capacities are the link graph's,
/// corrected by what public measurements show (communication.cpp names each). Protocols differ by
/// the flags they carry: LL sends 8 bytes for 4, LL128 128 for 120.
///
/// Checked against vTrain's AllReduce tables (V100 and A100, 2 to 8 GPUs on NVLink): from 16 MiB on
/// the mean error is 1 to 5%, on the A100 pair 17%; below 8 MiB it predicts times a third too short
/// on four and more GPUs, and up to two thirds on A100. No measurement of a PCIe box with sizes was
/// at hand.
///
/// Immutable after construction; safe from any thread.
class CommunicationModel {
 public:
  explicit CommunicationModel(const Topology& topology);

  const LinkGraph& graph() const { return graph_; }
  /// Effective GB/s by link id.
  const std::vector<double>& capacities() const { return capacities_; }

  /// `gpus`: indices into Topology::gpus in rank order; `plan` was made for them. `max_channels` 0:
  /// NCCL's number.
  CommunicationCost price(const StockPlan& plan, const std::vector<int>& gpus,
                          const CollectiveCall& call, int max_channels = 0) const;

  /// One message of a send/recv group.
  CommunicationCost price_message(int from_gpu, int to_gpu, uint64_t bytes) const;

  /// Time with nothing else on the links.
  double alone_us(const CommunicationCost& cost) const;

  /// GB/s between a GPU and its host, and to the best-connected other GPU; 0: none.
  double host_gbps(int gpu) const;
  double best_peer_gbps(int gpu) const;

 private:
  class Loads;

  const Topology topology_;
  LinkGraph graph_;
  std::vector<double> capacities_;
};

}  // namespace braid::model
