#include "cli/traces/trace_json.hpp"

namespace braid::cli {

Json rewrites_json(const TraceSummary& summary) {
  Json rewrites = Json::array();
  for (const RewriteRow& row : summary.rewrites) {
    rewrites.push_back({{"kind", row.kind},
                        {"collective", row.collective.function},
                        {"bytes", row.collective.bytes},
                        {"type", row.collective.type},
                        {"ranks", row.collective.ranks},
                        {"parts", row.parts},
                        {"calls", row.calls},
                        {"overlapped", row.overlapped}});
  }
  return rewrites;
}

Json refusals_json(const TraceSummary& summary) {
  Json refusals = Json::object();
  for (const auto& [reason, count] : summary.refusals) {
    refusals[reason] = count;
  }
  return refusals;
}

Json summary_json(const TraceSummary& summary) {
  Json collectives = Json::array();
  for (const CollectiveRow& row : summary.collectives) {
    collectives.push_back({{"collective", row.function},
                           {"bytes", row.bytes},
                           {"type", row.type},
                           {"ranks", row.ranks},
                           {"calls", row.calls}});
  }
  Json document;
  document["collectives"] = collectives;
  document["rewrites"] = rewrites_json(summary);
  document["refusals"] = refusals_json(summary);
  document["gemms"] = summary.gemms;
  document["kernels"] = summary.kernels;
  document["copies"] = summary.copies;
  document["files"] = summary.files;
  document["dropped"] = summary.dropped;
  return document;
}

}  // namespace braid::cli
