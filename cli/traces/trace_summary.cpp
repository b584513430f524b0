#include "cli/traces/trace_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "cli/format.hpp"
#include "cli/text_table.hpp"

namespace braid::cli {
namespace trace = model::trace;
namespace {

using trace::CollectiveFunction;

using ShapeKey = std::tuple<std::string, uint64_t, std::string, int>;

const char* kind_name(uint32_t kind) {
  switch (static_cast<trace::RewriteKind>(kind)) {
    case trace::RewriteKind::kProducer:
      return "producer";
    case trace::RewriteKind::kConsumer:
      return "consumer";
    case trace::RewriteKind::kScheme:
      return "scheme";
  }
  return "unknown";
}

/// Counts the records of one file into the sums over all files.
class FileCounter {
 public:
  FileCounter(const trace::RankTrace& file, std::map<ShapeKey, uint64_t>* calls,
              std::map<std::tuple<std::string, ShapeKey, uint32_t>, RewriteRow>* rewrites,
              TraceSummary* summary)
      : file_(file), calls_(*calls), rewrites_(*rewrites), summary_(*summary) {}

  void run() {
    for (const trace::Record& record : file_.records) {
      const bool ours = record.has(trace::kIssuedByBraid);
      if (const auto* made = std::get_if<trace::Communicator>(&record.payload)) {
        communicators_[made->id] = *made;
      } else if (const auto* call = std::get_if<trace::Collective>(&record.payload)) {
        if (!ours) {
          count(*call);
        }
      } else if (const auto* rewrite = std::get_if<trace::Rewrite>(&record.payload)) {
        pending_.push_back(*rewrite);
      } else if (const auto* refusal = std::get_if<trace::Refusal>(&record.payload)) {
        summary_.refusals[file_.name(refusal->reason)] += refusal->count;
      } else if (!ours) {
        summary_.gemms += record.type() == trace::RecordType::kGemm;
        summary_.kernels += record.type() == trace::RecordType::kKernel;
        summary_.copies += record.type() == trace::RecordType::kCopy;
      }
    }
    // A rewriting may be written before or after the call it belongs to.
    for (const trace::Rewrite& rewrite : pending_) {
      count(rewrite);
    }
    summary_.dropped += file_.dropped;
  }

 private:
  void count(const trace::Collective& call) {
    const auto it = communicators_.find(call.communicator);
    const int ranks = it == communicators_.end() ? 1 : it->second.n_ranks;
    const int rank = it == communicators_.end() ? 0 : it->second.rank;
    const auto function = static_cast<CollectiveFunction>(call.function);
    const ShapeKey key{trace::name_of(function), collective_bytes(call, ranks),
                       trace::name_of(static_cast<trace::ElementType>(call.type)), ranks};
    if (function != CollectiveFunction::kSend && function != CollectiveFunction::kRecv) {
      shapes_[{call.communicator, call.sequence}] = key;
      if (rank != 0) {
        return;
      }
    } else if (function == CollectiveFunction::kRecv) {
      return;  // its send is counted
    }
    ++calls_[key];
  }

  void count(const trace::Rewrite& rewrite) {
    const auto shape = shapes_.find({rewrite.communicator, rewrite.sequence});
    const ShapeKey key = shape == shapes_.end() ? ShapeKey{} : shape->second;
    RewriteRow& row = rewrites_[{kind_name(rewrite.kind), key, rewrite.parts}];
    row.kind = kind_name(rewrite.kind);
    row.collective = {std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), 0};
    row.parts = rewrite.parts;
    row.calls += 1;
    row.overlapped += rewrite.overlapped != 0;
  }

  const trace::RankTrace& file_;
  std::map<ShapeKey, uint64_t>& calls_;
  std::map<std::tuple<std::string, ShapeKey, uint32_t>, RewriteRow>& rewrites_;
  TraceSummary& summary_;
  std::map<uint32_t, trace::Communicator> communicators_;
  std::map<std::pair<uint32_t, uint64_t>, ShapeKey> shapes_;
  std::vector<trace::Rewrite> pending_;
};

}  // namespace

uint64_t collective_bytes(const trace::Collective& call, int ranks) {
  const uint64_t bytes = call.count * trace::bytes_of(static_cast<trace::ElementType>(call.type));
  switch (static_cast<CollectiveFunction>(call.function)) {
    case CollectiveFunction::kAllGather:
    case CollectiveFunction::kReduceScatter:
    case CollectiveFunction::kAllToAll:
    case CollectiveFunction::kGather:
    case CollectiveFunction::kScatter:
      return bytes * static_cast<uint64_t>(ranks);
    default:
      return bytes;
  }
}

TraceSummary summarize_trace(const trace::Trace& all) {
  TraceSummary summary;
  std::map<ShapeKey, uint64_t> calls;
  std::map<std::tuple<std::string, ShapeKey, uint32_t>, RewriteRow> rewrites;
  for (const trace::RankTrace& file : all.ranks) {
    FileCounter(file, &calls, &rewrites, &summary).run();
    ++summary.files;
  }
  for (const auto& [key, count] : calls) {
    const auto& [function, bytes, type, ranks] = key;
    summary.collectives.push_back({function, bytes, type, ranks, count});
  }
  std::stable_sort(summary.collectives.begin(), summary.collectives.end(),
                   [](const CollectiveRow& a, const CollectiveRow& b) {
                     return a.bytes * a.calls > b.bytes * b.calls;
                   });
  for (const auto& [key, row] : rewrites) {
    summary.rewrites.push_back(row);
  }
  std::stable_sort(summary.rewrites.begin(), summary.rewrites.end(),
                   [](const RewriteRow& a, const RewriteRow& b) { return a.calls > b.calls; });
  return summary;
}

std::string collectives_table(const TraceSummary& summary) {
  TextTable table({{"collective"}, {"size", true}, {"type"}, {"ranks", true}, {"calls", true}});
  for (const CollectiveRow& row : summary.collectives) {
    table.add_row({row.function, format_bytes(row.bytes), row.type, std::to_string(row.ranks),
                   std::to_string(row.calls)});
  }
  return table.empty() ? "" : table.text(2);
}

std::string rewrites_table(const TraceSummary& summary) {
  TextTable table({{"rewritten"},
                   {"collective"},
                   {"size", true},
                   {"type"},
                   {"parts", true},
                   {"calls", true},
                   {"started early", true}});
  for (const RewriteRow& row : summary.rewrites) {
    table.add_row({row.kind, row.collective.function, format_bytes(row.collective.bytes),
                   row.collective.type, std::to_string(row.parts), std::to_string(row.calls),
                   std::to_string(row.overlapped)});
  }
  return table.empty() ? "" : table.text(2);
}

std::string refusals_table(const TraceSummary& summary) {
  TextTable table({{"left as stock, because"}, {"calls", true}});
  for (const auto& [reason, count] : summary.refusals) {
    table.add_row({reason, std::to_string(count)});
  }
  return table.empty() ? "" : table.text(2);
}

}  // namespace braid::cli
