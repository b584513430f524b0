// What a trace says in tables: collectives, rewritings, refusals.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/trace.hpp"

namespace braid::cli {

/// Calls of one shape that the program asked for (whatever braid made of them).
struct CollectiveRow {
  std::string function;  // "AllReduce"
  uint64_t bytes = 0;    // nccl-tests' size
  std::string type;      // "bf16"
  int ranks = 0;         // of the communicator
  uint64_t calls = 0;    // counted once for all ranks: on the communicator's rank 0; sends on all
};

/// Calls of one shape that braid carried out in another way, summed over ranks.
struct RewriteRow {
  std::string kind;  // "producer", "consumer", "scheme"
  CollectiveRow collective;
  uint32_t parts = 0;
  uint64_t calls = 0;
  uint64_t overlapped = 0;  // of these, started early
};

struct TraceSummary {
  std::vector<CollectiveRow> collectives;       // by bytes × calls, largest first
  std::vector<RewriteRow> rewrites;             // most calls first
  std::map<std::string, uint64_t> refusals;     // reason → calls, summed over ranks
  uint64_t gemms = 0, kernels = 0, copies = 0;  // by the program, over all ranks
  int files = 0;
  uint64_t dropped = 0;
};

TraceSummary summarize_trace(const model::trace::Trace& trace);

/// nccl-tests' size of a call: the whole buffer, over all ranks for gathers and scatters.
uint64_t collective_bytes(const model::trace::Collective& call, int ranks);

/// Text tables; "" when there is nothing to show.
std::string collectives_table(const TraceSummary& summary);
std::string rewrites_table(const TraceSummary& summary);
std::string refusals_table(const TraceSummary& summary);

}  // namespace braid::cli
