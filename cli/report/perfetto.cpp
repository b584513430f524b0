#include "cli/report/perfetto.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "cli/json_output.hpp"

namespace braid::cli {
namespace trace = model::trace;
namespace {

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace);
}

}  // namespace

std::string stream_label(const trace::Trace& all, int file, uint32_t stream) {
  if (stream == 0) {
    return "default stream";
  }
  // A stream is braid's own when it was declared so, or when braid issued all work on it.
  constexpr uint32_t kMadeByBraid = 2;
  bool declared_ours = false, has_work = false, has_users_work = false;
  for (const trace::Record& record : all.ranks[static_cast<size_t>(file)].records) {
    if (const auto* declared = std::get_if<trace::Stream>(&record.payload)) {
      declared_ours =
          declared_ours || (declared->id == stream && (declared->flags & kMadeByBraid) != 0);
    } else if (record.header.stream == stream && !record.has(trace::kUserCall)) {
      const bool works = record.type() == trace::RecordType::kGemm ||
                         record.type() == trace::RecordType::kKernel ||
                         record.type() == trace::RecordType::kCopy ||
                         record.type() == trace::RecordType::kCollective;
      has_work = has_work || works;
      has_users_work = has_users_work || (works && !record.has(trace::kIssuedByBraid));
    }
  }
  const bool ours = declared_ours || (has_work && !has_users_work);
  return fmt::format("stream {}{}", stream, ours ? " (braid)" : "");
}

std::string perfetto_json(const trace::Trace& all, const model::SimulationResult& result) {
  fmt::memory_buffer out;
  const auto put = [&](const auto& format, const auto&... values) {
    fmt::format_to(std::back_inserter(out), fmt::runtime(format), values...);
  };
  put("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  std::map<std::pair<int, uint32_t>, int> rows;  // rank and stream → file
  for (const model::TimelineItem& item : result.timeline) {
    rows[{item.rank, item.stream}] = item.file;
  }
  const char* separator = "";
  int last_rank = -1;
  for (const auto& [row, file] : rows) {
    const auto& [rank, stream] = row;
    if (rank != last_rank) {
      put("{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"rank "
          "{}\"}}}}",
          separator, rank, rank);
      put(",\n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},\"args\":{{\"sort_index\":{"
          "}}}}}",
          rank, rank);
      separator = ",\n";
      last_rank = rank;
    }
    put(",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}"
        "}",
        rank, stream, quoted(stream_label(all, file, stream)));
    put(",\n{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},"
        "\"args\":{{\"sort_index\":{}}}}}",
        rank, stream, stream);
  }
  for (const model::TimelineItem& item : result.timeline) {
    put("{}{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},\"tid\":{}"
        ","
        "\"args\":{{\"record\":{}}}}}",
        separator, quoted(item.name), quoted(item.category), item.start_us,
        item.end_us - item.start_us, item.rank, item.stream, item.record);
    separator = ",\n";
  }
  put("\n]}}\n");
  return fmt::to_string(out);
}

}  // namespace braid::cli
