#include "model/simulator/matching.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace braid::model {
namespace {

struct Call {
  int device;
  const trace::Collective* record;
};

/// calls[communicator][rank] = that rank's collectives in order.
using Calls = std::vector<std::vector<std::vector<Call>>>;

Calls collect_calls(const trace::Trace& trace, const Workload& workload) {
  Calls calls(workload.communicators.size());
  std::vector<std::map<int, size_t>> rank_of_device(workload.communicators.size());
  for (size_t c = 0; c < calls.size(); ++c) {
    const std::vector<int>& devices = workload.communicators[c].devices;
    calls[c].resize(devices.size());
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      rank_of_device[c][devices[rank]] = rank;
    }
  }
  for (const Program& program : workload.programs) {
    const trace::RankTrace& file = trace.ranks[static_cast<size_t>(program.file)];
    for (const Op& op : program.ops) {
      if (op.kind != OpKind::kCollective) {
        continue;
      }
      const auto c = static_cast<size_t>(op.communicator);
      const auto rank = rank_of_device[c].find(op.device);
      if (rank == rank_of_device[c].end()) {
        continue;
      }
      calls[c][rank->second].push_back(
          {op.device, &std::get<trace::Collective>(file.records[op.record].payload)});
    }
  }
  return calls;
}

std::string describe(const trace::Collective& call) {
  return std::string(trace::name_of(static_cast<trace::CollectiveFunction>(call.function))) +
         " of " + std::to_string(call.count) + " " +
         trace::name_of(static_cast<trace::ElementType>(call.type));
}

std::string place(const trace::Trace& trace, const Workload& workload, int device) {
  return trace.ranks[static_cast<size_t>(workload.devices[static_cast<size_t>(device)].file)].path;
}

std::string name_of(const CommunicatorInfo& communicator) {
  return communicator.name.empty() ? "communicator " + std::to_string(communicator.hash)
                                   : "communicator '" + communicator.name + "'";
}

bool equal(const trace::Collective& a, const trace::Collective& b) {
  const auto function = static_cast<trace::CollectiveFunction>(a.function);
  const bool rooted = function == trace::CollectiveFunction::kBroadcast ||
                      function == trace::CollectiveFunction::kReduce ||
                      function == trace::CollectiveFunction::kGather ||
                      function == trace::CollectiveFunction::kScatter;
  return a.function == b.function && a.type == b.type && a.count == b.count &&
         (!rooted || a.root == b.root);
}

/// Drops, in every program, the first collective without partners and all that follows it, until no
/// such collective is left.
void drop_unmatched(Workload& workload) {
  const size_t n = workload.communicators.size();
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<uint64_t> common(n, std::numeric_limits<uint64_t>::max());
    std::vector<std::map<int, uint64_t>> made(n);
    for (const Program& program : workload.programs) {
      for (const Op& op : program.ops) {
        if (op.kind == OpKind::kCollective) {
          made[static_cast<size_t>(op.communicator)][op.device] += 1;
        }
      }
    }
    for (size_t c = 0; c < n; ++c) {
      for (const int device : workload.communicators[c].devices) {
        common[c] = std::min(common[c], made[c][device]);
      }
    }
    for (Program& program : workload.programs) {
      const auto end = std::find_if(program.ops.begin(), program.ops.end(), [&](const Op& op) {
        return op.kind == OpKind::kCollective &&
               op.order >= common[static_cast<size_t>(op.communicator)];
      });
      changed = changed || end != program.ops.end();
      program.ops.erase(end, program.ops.end());
    }
  }
}

}  // namespace

Status match_collectives(const trace::Trace& trace, Workload& workload) {
  const Calls calls = collect_calls(trace, workload);
  const bool cut = std::any_of(trace.ranks.begin(), trace.ranks.end(),
                               [](const auto& rank) { return !rank.complete || rank.dropped > 0; });
  bool unmatched = false;
  for (size_t c = 0; c < calls.size(); ++c) {
    const CommunicatorInfo& communicator = workload.communicators[c];
    const bool used = std::any_of(calls[c].begin(), calls[c].end(),
                                  [](const auto& rank) { return !rank.empty(); });
    const auto missing = std::find(communicator.devices.begin(), communicator.devices.end(), -1);
    if (used && missing != communicator.devices.end()) {
      return fail("", name_of(communicator) + " has " +
                          std::to_string(communicator.devices.size()) +
                          " ranks; the trace of its rank " +
                          std::to_string(missing - communicator.devices.begin()) + " is missing");
    }
    for (size_t rank = 1; rank < calls[c].size(); ++rank) {
      const std::vector<Call>& first = calls[c][0];
      const std::vector<Call>& other = calls[c][rank];
      const size_t both = std::min(first.size(), other.size());
      for (size_t k = 0; k < both; ++k) {
        if (!equal(*first[k].record, *other[k].record)) {
          return fail(place(trace, workload, other[k].device),
                      "call " + std::to_string(k) + " on " + name_of(communicator) + " is " +
                          describe(*other[k].record) + " on rank " + std::to_string(rank) +
                          " and " + describe(*first[k].record) +
                          " on rank 0; expected the same on all ranks");
        }
      }
      if (first.size() != other.size()) {
        if (!cut) {
          return fail(place(trace, workload, communicator.devices[rank]),
                      "rank " + std::to_string(rank) + " made " + std::to_string(other.size()) +
                          " calls on " + name_of(communicator) + ", rank 0 made " +
                          std::to_string(first.size()) + "; expected the same number on all ranks");
        }
        unmatched = true;
      }
    }
  }
  if (unmatched) {
    drop_unmatched(workload);
    workload.warnings.push_back(
        "the trace of a rank is cut: what follows the last collective that all ranks made is not "
        "replayed");
  }
  return {};
}

}  // namespace braid::model
