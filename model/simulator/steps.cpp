#include "model/simulator/steps.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>

namespace braid::model {
namespace {

using trace::Record;

constexpr size_t kLongestPeriod = 8192;  // collectives
constexpr char kAdvice[] =
    "name an NVTX range with --step-range NAME, or count collectives with "
    "--step-every COLLECTIVE,N";

uint64_t mix(uint64_t seed, uint64_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
  seed *= 0xbf58476d1ce4e5b9ull;
  return seed ^ (seed >> 31);
}

/// From which record on a step's work belongs to the next step. Ranges are separate steps; marks
/// follow one another.
struct Cut {
  uint32_t start = 0, end = 0;  // records [start, end) are the step's
};

/// One device's records, as far as steps care.
class DeviceView {
 public:
  DeviceView(const trace::Trace& trace, const Workload& workload, const Schedule& schedule,
             int device)
      : info_(workload.devices[static_cast<size_t>(device)]),
        records_(trace.ranks[static_cast<size_t>(info_.file)].records),
        names_(trace.ranks[static_cast<size_t>(info_.file)]) {
    alone_ = std::count_if(workload.devices.begin(), workload.devices.end(),
                           [&](const auto& other) { return other.file == info_.file; }) == 1;
    for (size_t p = 0; p < workload.programs.size(); ++p) {
      const Program& program = workload.programs[p];
      for (size_t i = 0; program.file == info_.file && i < program.ops.size(); ++i) {
        if (program.ops[i].device == device) {
          ends_.emplace_back(program.ops[i].record, schedule.times[p][i].end_us);
          threads_.insert(records_[program.ops[i].record].header.thread);
        }
      }
    }
    std::stable_sort(ends_.begin(), ends_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 1; i < ends_.size(); ++i) {
      ends_[i].second = std::max(ends_[i].second, ends_[i - 1].second);
    }
    for (const Record& record : records_) {
      if (const auto* declared = std::get_if<trace::Communicator>(&record.payload)) {
        if (declared->device == info_.ordinal) {
          hash_of_communicator_[declared->id] = declared->hash;
        }
      } else if (const auto* stream = std::get_if<trace::Stream>(&record.payload)) {
        device_of_stream_[stream->id] = stream->device;
      }
    }
  }

  bool has_work() const { return !ends_.empty(); }
  uint32_t record_count() const { return static_cast<uint32_t>(records_.size()); }

  /// When all that was issued before this record is done.
  double done_before(uint32_t record) const {
    const auto it = std::lower_bound(ends_.begin(), ends_.end(), record,
                                     [](const auto& entry, uint32_t r) { return entry.first < r; });
    return it == ends_.begin() ? 0.0 : std::prev(it)->second;
  }

  /// The program's own collectives: records, and a signature of each.
  void collectives(bool with_gemms, std::vector<uint32_t>& where,
                   std::vector<uint64_t>& signatures) const {
    uint64_t gemms = 0;
    for (uint32_t i = 0; i < records_.size(); ++i) {
      const Record& record = records_[i];
      if (record.has(trace::kIssuedByBraid)) {
        continue;
      }
      if (const auto* gemm = std::get_if<trace::Gemm>(&record.payload)) {
        if (with_gemms && mine(record)) {
          gemms = mix(mix(mix(mix(gemms, gemm->m), gemm->n), gemm->k), gemm->batch);
        }
        continue;
      }
      const auto* call = std::get_if<trace::Collective>(&record.payload);
      if (call == nullptr) {
        continue;
      }
      const auto communicator = hash_of_communicator_.find(call->communicator);
      if (communicator == hash_of_communicator_.end()) {
        continue;
      }
      uint64_t signature = mix(communicator->second, call->function);
      signature = mix(mix(mix(signature, call->type), call->count), gemms);
      gemms = 0;
      where.push_back(i);
      signatures.push_back(signature);
    }
  }

  std::vector<uint32_t> calls_of(trace::CollectiveFunction function) const {
    std::vector<uint32_t> where;
    for (uint32_t i = 0; i < records_.size(); ++i) {
      const auto* call = std::get_if<trace::Collective>(&records_[i].payload);
      if (call != nullptr && !records_[i].has(trace::kIssuedByBraid) &&
          call->function == static_cast<uint32_t>(function) &&
          hash_of_communicator_.contains(call->communicator)) {
        where.push_back(i);
      }
    }
    return where;
  }

  /// Ranges of this name, or the stretches between marks of this name.
  std::vector<Cut> ranges(const std::string& name) const {
    std::vector<Cut> cuts;
    std::map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>> open;  // by thread: name, record
    std::optional<uint32_t> last_mark;
    for (uint32_t i = 0; i < records_.size(); ++i) {
      const auto* marker = std::get_if<trace::Marker>(&records_[i].payload);
      const uint32_t thread = records_[i].header.thread;
      if (marker == nullptr || !(alone_ || threads_.contains(thread))) {
        continue;
      }
      if (marker->kind == 0) {
        open[thread].emplace_back(marker->name, i);
      } else if (marker->kind == 1) {
        if (open[thread].empty()) {
          continue;
        }
        const auto [pushed, record] = open[thread].back();
        open[thread].pop_back();
        if (names_.name(pushed) == name) {
          cuts.push_back({record, i});
        }
      } else if (names_.name(marker->name) == name) {
        if (last_mark) {
          cuts.push_back({*last_mark, i});
        }
        last_mark = i;
      }
    }
    return cuts;
  }

  /// The record after a call and after what braid issued in its place.
  uint32_t after_call(uint32_t record) const {
    uint32_t next = record + 1;
    while (next < records_.size() && records_[next].has(trace::kIssuedByBraid)) {
      ++next;
    }
    return next;
  }

 private:
  bool mine(const Record& record) const {
    const auto it = device_of_stream_.find(record.header.stream);
    return alone_ || (it != device_of_stream_.end() && it->second == info_.ordinal);
  }

  const DeviceInfo& info_;
  const std::vector<Record>& records_;
  const trace::RankTrace& names_;
  bool alone_ = true;                              // the only device of its file
  std::vector<std::pair<uint32_t, double>> ends_;  // record, greatest end so far
  std::set<uint32_t> threads_;
  std::unordered_map<uint32_t, uint64_t> hash_of_communicator_;
  std::unordered_map<uint32_t, int> device_of_stream_;
};

std::vector<Cut> cut_at(const std::vector<uint32_t>& boundaries) {
  std::vector<Cut> cuts;
  for (size_t i = 1; i < boundaries.size(); ++i) {
    cuts.push_back({boundaries[i - 1], boundaries[i]});
  }
  return cuts;
}

std::vector<Cut> cut_by_count(const DeviceView& view, trace::CollectiveFunction function,
                              int every) {
  const std::vector<uint32_t> where = view.calls_of(function);
  std::vector<uint32_t> boundaries{0};
  for (size_t i = static_cast<size_t>(every); i <= where.size(); i += static_cast<size_t>(every)) {
    boundaries.push_back(view.after_call(where[i - 1]));
  }
  return cut_at(boundaries);
}

std::vector<Cut> cut_by_period(const DeviceView& view) {
  for (const bool with_gemms : {true, false}) {
    std::vector<uint32_t> where;
    std::vector<uint64_t> signatures;
    view.collectives(with_gemms, where, signatures);
    const std::optional<Period> period = find_period(signatures);
    if (!period) {
      continue;
    }
    std::vector<uint32_t> boundaries{
        period->first == 0 ? 0 : view.after_call(where[period->first - 1])};
    for (size_t i = 1; i <= period->count; ++i) {
      boundaries.push_back(view.after_call(where[period->first + i * period->length - 1]));
    }
    return cut_at(boundaries);
  }
  return {};
}

std::optional<trace::CollectiveFunction> function_from(const std::string& name) {
  for (uint32_t f = 0; f <= static_cast<uint32_t>(trace::CollectiveFunction::kRecv); ++f) {
    std::string known = trace::name_of(static_cast<trace::CollectiveFunction>(f));
    std::transform(known.begin(), known.end(), known.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (known == name) {
      return static_cast<trace::CollectiveFunction>(f);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Period> find_period(const std::vector<uint64_t>& sequence) {
  const size_t n = sequence.size();
  for (size_t length = 1; length <= std::min(n / 2, kLongestPeriod); ++length) {
    size_t best_first = 0, best = 0, run = 0;
    for (size_t i = 0; i + length < n; ++i) {
      run = sequence[i] == sequence[i + length] ? run + 1 : 0;
      if (run > best) {
        best = run;
        best_first = i + 1 - run;
      }
    }
    const size_t covered = best + length;
    if (best > 0 && covered >= 2 * length && covered * 2 > n) {
      return Period{best_first, length, covered / length};
    }
  }
  return std::nullopt;
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Result<std::vector<StepTimes>> find_steps(const trace::Trace& trace, const Workload& workload,
                                          const Schedule& schedule,
                                          const SimulationOptions& options) {
  std::optional<trace::CollectiveFunction> function;
  if (options.step_range.empty() && !options.step_collective.empty()) {
    function = function_from(options.step_collective);
    if (!function || options.step_every < 1) {
      return fail("--step-every", "'" + options.step_collective + "," +
                                      std::to_string(options.step_every) +
                                      "'; expected a collective (allreduce, allgather, "
                                      "reducescatter, …) and a number of at least 1");
    }
  }
  std::vector<DeviceView> views;
  std::vector<std::vector<Cut>> cuts;
  size_t steps = 0;
  for (size_t device = 0; device < workload.devices.size(); ++device) {
    DeviceView view(trace, workload, schedule, static_cast<int>(device));
    if (!view.has_work()) {
      continue;
    }
    std::vector<Cut> of_device = !options.step_range.empty() ? view.ranges(options.step_range)
                                 : function ? cut_by_count(view, *function, options.step_every)
                                            : cut_by_period(view);
    steps = cuts.empty() ? of_device.size() : std::min(steps, of_device.size());
    views.push_back(std::move(view));
    cuts.push_back(std::move(of_device));
  }
  if (steps == 0) {
    const std::string& where = trace.ranks.front().path;
    if (!options.step_range.empty()) {
      return fail(where, "not every rank has an NVTX range '" + options.step_range + "'");
    }
    if (function) {
      return fail(where, "not every rank makes " + std::to_string(options.step_every) +
                             " calls of " + options.step_collective);
    }
    return fail(where, std::string("no step found: the collectives do not repeat; ") + kAdvice);
  }
  std::vector<StepTimes> times(steps);
  for (size_t step = 0; step < steps; ++step) {
    for (size_t v = 0; v < views.size(); ++v) {
      times[step].start_us =
          std::max(times[step].start_us, views[v].done_before(cuts[v][step].start));
      times[step].end_us = std::max(times[step].end_us, views[v].done_before(cuts[v][step].end));
    }
  }
  return times;
}

}  // namespace braid::model
