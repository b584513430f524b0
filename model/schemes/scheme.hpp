// Schemes: other ways for one collective's bytes than stock NCCL's, carried out by stock NCCL's own
// kernels: through a graph file, or through several communicators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "model/link_capacities.hpp"
#include "model/link_graph.hpp"
#include "model/stock_nccl.hpp"
#include "model/topology.hpp"

namespace braid::model {

enum class SchemeKind : uint8_t { kStock, kDoubleRing, kTreeChains, kHierarchical };
const char* name_of(SchemeKind kind);  // "stock", "double_ring", "tree_chains", "hierarchical"
std::optional<SchemeKind> scheme_kind_from(const std::string& name);

/// One level of a hierarchy: disjoint communicators of one size that together hold all ranks.
struct HierarchyLevel {
  std::string name;                      // "pair", "switch", "socket", "across"
  std::vector<std::vector<int>> groups;  // ranks of the whole communicator, in rank order of each
};

struct Scheme {
  SchemeKind kind = SchemeKind::kStock;
  /// double_ring: closed rings of ranks, one a channel, directions alternating, weighted by
  /// repetition (NCCL splits data equally over channels).
  std::vector<std::vector<int>> rings;
  /// tree_chains: chains of ranks, one a channel, rooted at the first entry. As many as `rings`
  /// when both are set: NCCL uses the smaller number of the two.
  std::vector<std::vector<int>> chains;
  /// hierarchical: innermost level first. At each level a rank belongs to one group, and position
  /// within it says which part of the data it holds afterwards; the last level joins what is left.
  std::vector<HierarchyLevel> levels;
};

/// One step of a hierarchy's pipeline on one chunk: the same collective in every group at once.
struct SchemePhase {
  int level = 0;
  config::Collective collective = config::Collective::kAllReduce;
  double fraction = 1;  // nccl-tests' bytes of each group's call, over the chunk's bytes
};
/// In order: for AllReduce ReduceScatter up to the last level, AllReduce there, AllGather back; for
/// AllGather the last level first; for ReduceScatter the first level first. Empty when the scheme
/// is not hierarchical or cannot carry out the collective.
std::vector<SchemePhase> phases_of(const Scheme& scheme, config::Collective collective);

/// What schemes are made from. Pointers must outlive the calls.
struct SchemeInputs {
  const Topology* topology = nullptr;
  const LinkGraph* graph = nullptr;  // of subset_topology for the communicator's GPUs where it
                                     // does not span the box (as for plan_stock)
  const std::vector<LinkCapacity>* capacities = nullptr;
  std::vector<int> gpus;  // indices into topology->gpus, in rank order
};

/// A scheme, or why this box does not get it.
struct SchemeOffer {
  SchemeKind kind = SchemeKind::kStock;
  std::optional<Scheme> scheme;
  /// When there is none, in words and with the place: "a switch uplink is shared by gpu 0 and gpu
  /// 1: one ring already uses both of its directions", "gpu 4 has no NVLink partner", …
  std::string reason;
};

/// The three schemes for one collective, best variant of each (least time on the most loaded link),
/// for any number of ranks. A scheme that carries the collective no faster than one ring of NCCL's
/// own on every link is not offered.
std::vector<SchemeOffer> offer_schemes(const SchemeInputs& inputs, config::Collective collective);
SchemeOffer offer_double_ring(const SchemeInputs& inputs, config::Collective collective);
SchemeOffer offer_tree_chains(const SchemeInputs& inputs, config::Collective collective);
SchemeOffer offer_hierarchical(const SchemeInputs& inputs, config::Collective collective);

/// By link id: bytes the link carries for each byte (nccl-tests' size) of the collective, protocol
/// and PCIe overhead left out: the numbers of nccl_facts table J. Hierarchies count what stock NCCL
/// does in each group unless `graph_in_groups`, in which case every group runs its best rings or
/// chains (a shadow communicator gets a graph file of its own).
std::vector<double> scheme_loads(const SchemeInputs& inputs, const Scheme& scheme,
                                 config::Collective collective, bool graph_in_groups = true);
/// The same for one closed ring or one chain that carries everything.
std::vector<double> ring_loads(const SchemeInputs& inputs, const std::vector<int>& ring,
                               config::Collective collective);
std::vector<double> chain_loads(const SchemeInputs& inputs, const std::vector<int>& chain);

/// The ChannelGraphs that make NCCL carry out a ring or chain scheme (for emitting graph files and
/// for pricing): speeds and path types as NCCL would compute them for these orders.
struct SchemeGraphs {
  ChannelGraph ring, tree;
};
Result<SchemeGraphs> graphs_of(const SchemeInputs& inputs, const Scheme& scheme);

}  // namespace braid::model
