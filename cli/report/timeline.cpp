#include "cli/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "cli/report/perfetto.hpp"

namespace braid::cli {
namespace {

/// More rectangles than this make the page slow; the shortest are left out and counted.
constexpr size_t kMaxItems = 20000;

double rounded(double microseconds) { return std::round(microseconds * 1000) / 1000; }

}  // namespace

const std::vector<std::string>& timeline_categories() {
  static const std::vector<std::string> kCategories = {"gemm", "kernel", "copy", "collective"};
  return kCategories;
}

Json timeline_json(const std::string& name, const model::trace::Trace& trace,
                   const model::SimulationResult& result, const model::StepTimes& window) {
  std::vector<const model::TimelineItem*> shown;
  for (const model::TimelineItem& item : result.timeline) {
    if (item.end_us > window.start_us && item.start_us < window.end_us) {
      shown.push_back(&item);
    }
  }
  const size_t left_out = shown.size() > kMaxItems ? shown.size() - kMaxItems : 0;
  if (left_out > 0) {
    std::nth_element(shown.begin(), shown.begin() + kMaxItems, shown.end(),
                     [](const auto* a, const auto* b) {
                       return a->end_us - a->start_us > b->end_us - b->start_us;
                     });
    shown.resize(kMaxItems);
  }
  std::map<std::tuple<int, int, uint32_t>, int> rows;  // by rank, file, stream
  for (const model::TimelineItem* item : shown) {
    rows[{item->rank, item->file, item->stream}] = 0;
  }
  Json out;
  out["name"] = name;
  out["length_us"] = rounded(window.end_us - window.start_us);
  out["rows"] = Json::array();
  for (auto& [key, row] : rows) {
    row = static_cast<int>(out["rows"].size());
    const auto& [rank, file, stream] = key;
    out["rows"].push_back({{"rank", rank}, {"label", stream_label(trace, file, stream)}});
  }
  const std::vector<std::string>& categories = timeline_categories();
  std::map<std::string, int> name_ids;
  out["names"] = Json::array();
  out["items"] = Json::array();
  for (const model::TimelineItem* item : shown) {
    const auto [id, is_new] = name_ids.emplace(item->name, static_cast<int>(name_ids.size()));
    if (is_new) {
      out["names"].push_back(item->name);
    }
    const auto category = std::find(categories.begin(), categories.end(), item->category);
    out["items"].push_back(
        {rows[{item->rank, item->file, item->stream}], rounded(item->start_us - window.start_us),
         rounded(item->end_us - window.start_us),
         category == categories.end() ? 1 : category - categories.begin(), id->second});
  }
  out["left_out"] = left_out;
  return out;
}

}  // namespace braid::cli
