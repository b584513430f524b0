#include "cli/traces/step_finder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "config/digest.hpp"
#include "model/simulator/steps.hpp"

namespace braid::cli {
namespace trace = model::trace;
namespace {

struct Call {
  uint64_t signature = 0;   // of the call alone
  uint64_t with_gemms = 0;  // and of the GEMMs since the last one
  uint64_t time_ns = 0;
  trace::CollectiveFunction function = trace::CollectiveFunction::kAllReduce;
};

/// The program's own collectives on the device of the file's first communicator.
std::vector<Call> calls_of(const trace::RankTrace& file) {
  std::map<uint32_t, int> device_of;
  std::optional<int> device;
  std::vector<Call> calls;
  config::Digest gemms;
  for (const trace::Record& record : file.records) {
    if (record.has(trace::kIssuedByBraid)) {
      continue;
    }
    if (const auto* gemm = std::get_if<trace::Gemm>(&record.payload)) {
      gemms.add(gemm->m).add(gemm->n).add(gemm->k).add(gemm->batch);
    }
    if (const auto* made = std::get_if<trace::Communicator>(&record.payload)) {
      device_of[made->id] = made->device;
      device = device.value_or(made->device);
    }
    const auto* call = std::get_if<trace::Collective>(&record.payload);
    if (call == nullptr) {
      continue;
    }
    const auto it = device_of.find(call->communicator);
    if (it == device_of.end() || it->second != *device) {
      continue;
    }
    config::Digest digest;
    digest.add(call->communicator).add(call->function).add(call->type).add(call->op);
    digest.add(call->count).add(static_cast<uint64_t>(static_cast<uint32_t>(call->root)));
    calls.push_back({digest.value(), gemms.add(digest.value()).value(), record.header.time_ns,
                     static_cast<trace::CollectiveFunction>(call->function)});
    gemms = config::Digest();
  }
  return calls;
}

/// Layers of a network call alike; the GEMMs between tell them apart where they repeat too.
std::optional<model::Period> find_call_period(const std::vector<Call>& calls) {
  for (const auto signature : {&Call::with_gemms, &Call::signature}) {
    std::vector<uint64_t> sequence;
    for (const Call& call : calls) {
      sequence.push_back(call.*signature);
    }
    if (const auto period = model::find_period(sequence)) {
      return period;
    }
  }
  return std::nullopt;
}

HostSteps steps_of_range(const trace::RankTrace& file, const std::string& range) {
  HostSteps steps;
  for (const trace::Record& record : file.records) {
    const auto* marker = std::get_if<trace::Marker>(&record.payload);
    if (marker != nullptr && marker->kind == 0 && file.name(marker->name) == range) {
      steps.start_ns.push_back(record.header.time_ns);
    }
  }
  return steps;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::vector<double> HostSteps::lengths_us() const {
  std::vector<double> lengths;
  for (size_t i = 1; i < start_ns.size(); ++i) {
    lengths.push_back(static_cast<double>(start_ns[i] - start_ns[i - 1]) / 1e3);
  }
  return lengths;
}

Result<HostSteps> find_host_steps(const trace::RankTrace& file, const StepRule& rule) {
  if (!rule.range.empty()) {
    HostSteps steps = steps_of_range(file, rule.range);
    if (steps.start_ns.size() < 2) {
      return fail(file.path, fmt::format("the NVTX range '{}' occurs {} times; at least 2 were "
                                         "expected",
                                         rule.range, steps.start_ns.size()));
    }
    return steps;
  }
  const std::vector<Call> calls = calls_of(file);
  if (calls.empty()) {
    return fail(file.path, "the job made no NCCL call, so there is no step to measure");
  }
  HostSteps steps;
  if (rule.every > 0) {
    int seen = 0;
    for (const Call& call : calls) {
      if (lower(trace::name_of(call.function)) == rule.collective && seen++ % rule.every == 0) {
        steps.start_ns.push_back(call.time_ns);
      }
    }
    steps.period = static_cast<size_t>(rule.every);
  } else {
    const auto period = find_call_period(calls);
    for (size_t i = 0; period && i < period->count; ++i) {
      steps.start_ns.push_back(calls[period->first + i * period->length].time_ns);
    }
    steps.period = period ? period->length : 0;
  }
  if (steps.start_ns.size() < 2) {
    return fail(file.path, fmt::format("no step was found in {} collectives; name one with "
                                       "--step-range NAME or --step-every COLLECTIVE,N",
                                       calls.size()));
  }
  return steps;
}

}  // namespace braid::cli
