#include "model/simulator/report.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

namespace braid::model {
namespace {

struct Span {
  double start = 0, end = 0;
};

/// Sorts and joins what touches.
std::vector<Span> merge(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> merged;
  for (const Span& span : spans) {
    if (!merged.empty() && span.start <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

/// The parts of `from` outside `without`; both merged.
std::vector<Span> subtract(const std::vector<Span>& from, const std::vector<Span>& without) {
  std::vector<Span> left;
  size_t next = 0;
  for (const Span& span : from) {
    double start = span.start;
    while (next < without.size() && without[next].end <= start) {
      ++next;
    }
    for (size_t i = next; i < without.size() && without[i].start < span.end; ++i) {
      if (without[i].start > start) {
        left.push_back({start, without[i].start});
      }
      start = std::max(start, without[i].end);
    }
    if (start < span.end) {
      left.push_back({start, span.end});
    }
  }
  return left;
}

double length_within(const std::vector<Span>& spans, double start, double end) {
  auto it = std::lower_bound(spans.begin(), spans.end(), start,
                             [](const Span& span, double t) { return span.end < t; });
  double sum = 0;
  for (; it != spans.end() && it->start < end; ++it) {
    sum += std::max(0.0, std::min(end, it->end) - std::max(start, it->start));
  }
  return sum;
}

struct Description {
  std::string name, category;
  std::string algorithm;  // "AllReduce 64MiB: Ring/Simple"
};

Description describe(const trace::RankTrace& file, const Workload& workload, const Op& op,
                     const std::string& algorithm) {
  const trace::Record& record = file.records[op.record];
  switch (op.kind) {
    case OpKind::kGemm: {
      const auto& gemm = std::get<trace::Gemm>(record.payload);
      std::string name = "gemm " + std::to_string(gemm.m) + "x" + std::to_string(gemm.n) + "x" +
                         std::to_string(gemm.k);
      name += gemm.batch > 1 ? " batch " + std::to_string(gemm.batch) : "";
      return {name + " " + trace::name_of(static_cast<trace::ElementType>(gemm.type)), "gemm", ""};
    }
    case OpKind::kKernel:
      return {file.name(std::get<trace::Kernel>(record.payload).name), "kernel", ""};
    case OpKind::kCopy: {
      static constexpr const char* kKinds[] = {"copy to device", "copy to host", "copy",
                                               "copy to peer", "memset"};
      const auto& copy = std::get<trace::Copy>(record.payload);
      return {std::string(kKinds[copy.kind]) + " " + format_bytes(copy.bytes), "copy", ""};
    }
    case OpKind::kCollective: {
      const CollectiveCall call = call_of(std::get<trace::Collective>(record.payload));
      const auto n_ranks =
          workload.communicators[static_cast<size_t>(op.communicator)].devices.size();
      const std::string what = std::string(trace::name_of(call.function)) + " " +
                               format_bytes(call_bytes(call, static_cast<int>(n_ranks)));
      return {what + " " + algorithm, "collective", what + ": " + algorithm};
    }
    case OpKind::kMessages: {
      uint64_t sent = 0, received = 0;
      for (const Message& message : op.messages) {
        (message.sends ? sent : received) += message.bytes;
      }
      return {"SendRecv " + format_bytes(sent) + " out " + format_bytes(received) + " in",
              "collective", ""};
    }
    default:
      return {};
  }
}

void add_guesses(const Schedule& schedule, size_t devices, SimulationResult& result) {
  const double all = result.total_us * static_cast<double>(devices);
  for (size_t i = 0; i < schedule.guessed_kernels.size() && all > 0; ++i) {
    char share[32];
    std::snprintf(share, sizeof share, "%.1f%%", 100 * schedule.guessed_us[i] / all);
    const std::string& name = schedule.guessed_kernels[i];
    result.guesses.push_back((name.empty() ? "a kernel without a name" : name) +
                             ": bytes unknown, taken from its thread count; " + share +
                             " of all GPU time");
  }
}

}  // namespace

std::string format_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

SimulationResult make_report(const trace::Trace& trace, const Workload& workload,
                             const Schedule& schedule, const std::vector<StepTimes>& steps) {
  SimulationResult result;
  result.warnings = trace.warnings;
  result.warnings.insert(result.warnings.end(), workload.warnings.begin(), workload.warnings.end());
  const size_t devices = workload.devices.size();
  std::vector<std::vector<Span>> communication(devices), compute(devices);
  std::set<std::string> algorithms;
  for (size_t p = 0; p < workload.programs.size(); ++p) {
    const Program& program = workload.programs[p];
    const trace::RankTrace& file = trace.ranks[static_cast<size_t>(program.file)];
    for (size_t i = 0; i < program.ops.size(); ++i) {
      const OpTimes& times = schedule.times[p][i];
      result.total_us = std::max(result.total_us, times.end_us);
      const Op& op = program.ops[i];
      Description text = describe(file, workload, op, schedule.algorithms[p][i]);
      if (text.category.empty() || times.start_us < 0) {
        continue;
      }
      const auto device = static_cast<size_t>(op.device);
      if (text.category == "collective") {
        communication[device].push_back({times.start_us, times.end_us});
        if (!text.algorithm.empty()) {
          algorithms.insert(text.algorithm);
        }
      } else if (text.category != "copy") {
        compute[device].push_back({times.start_us, times.end_us});
      }
      const DeviceInfo& info = workload.devices[device];
      result.timeline.push_back(
          {info.rank, info.file, info.streams[static_cast<size_t>(op.stream)].id, op.record,
           times.start_us, times.end_us, std::move(text.name), std::move(text.category)});
    }
  }
  std::stable_sort(
      result.timeline.begin(), result.timeline.end(), [](const auto& a, const auto& b) {
        return std::tie(a.rank, a.start_us, a.record) < std::tie(b.rank, b.start_us, b.record);
      });
  result.algorithms.assign(algorithms.begin(), algorithms.end());
  add_guesses(schedule, devices, result);

  std::vector<std::vector<Span>> exposed(devices);
  for (size_t device = 0; device < devices; ++device) {
    exposed[device] =
        subtract(merge(std::move(communication[device])), merge(std::move(compute[device])));
  }
  result.steps = steps;
  std::vector<double> exposed_us;
  for (const StepTimes& step : steps) {
    result.step_us.push_back(step.end_us - step.start_us);
    double sum = 0;
    for (const std::vector<Span>& spans : exposed) {
      sum += length_within(spans, step.start_us, step.end_us);
    }
    exposed_us.push_back(sum / static_cast<double>(devices));
  }
  result.median_step_us = median(result.step_us);
  result.exposed_communication_us = median(std::move(exposed_us));
  return result;
}

}  // namespace braid::model
