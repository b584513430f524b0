#include "model/simulator/replay.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "model/simulator/report.hpp"
#include "model/simulator/steps.hpp"

namespace braid::model {
namespace {

constexpr int kDefaultQueues = 8;  // CUDA's default of CUDA_DEVICE_MAX_CONNECTIONS
constexpr int kMostQueues = 32;

Result<int> queues_of(const std::map<std::string, std::string>& settings, int asked) {
  if (asked > 0) {
    return std::min(asked, kMostQueues);
  }
  const auto it = settings.find("CUDA_DEVICE_MAX_CONNECTIONS");
  if (it == settings.end() || it->second.empty()) {
    return kDefaultQueues;
  }
  int queues = 0;
  const char* end = it->second.data() + it->second.size();
  const auto parsed = std::from_chars(it->second.data(), end, queues);
  if (parsed.ec != std::errc() || parsed.ptr != end || queues < 1 || queues > kMostQueues) {
    return fail("CUDA_DEVICE_MAX_CONNECTIONS",
                "the trace was recorded with '" + it->second + "'; expected a number from 1 to 32");
  }
  return queues;
}

/// The trace's NCCL settings with those of the options on top.
Result<NcclSettings> settings_of(const std::map<std::string, std::string>& traced,
                                 const NcclSettings& asked) {
  const std::vector<std::pair<std::string, std::string>> pairs(traced.begin(), traced.end());
  Result<NcclSettings> merged = read_nccl_settings(pairs);
  if (!merged) {
    return merged;
  }
  const auto over = [](std::string& into, const std::string& from) {
    if (!from.empty()) {
      into = from;
    }
  };
  over(merged->algo, asked.algo);
  over(merged->proto, asked.proto);
  over(merged->graph_file, asked.graph_file);
  over(merged->p2p_level, asked.p2p_level);
  merged->min_channels = asked.min_channels > 0 ? asked.min_channels : merged->min_channels;
  merged->max_channels = asked.max_channels > 0 ? asked.max_channels : merged->max_channels;
  return merged;
}

}  // namespace

Result<Replay> Replay::prepare(const trace::Trace& trace, const Topology& topology,
                               const GpuModel& gpu, const SimulationOptions& options) {
  Result<Workload> workload = build_workload(trace, topology);
  if (!workload) {
    return tl::unexpected(workload.error());
  }
  Replay replay(trace, topology, gpu, options);
  replay.workload_ = std::move(*workload);

  const std::map<std::string, std::string> traced = trace.ranks.front().settings();
  Result<int> queues = queues_of(traced, options.hardware_queues);
  if (!queues) {
    return tl::unexpected(queues.error());
  }
  replay.hardware_queues_ = *queues;
  Result<NcclSettings> settings = settings_of(traced, options.nccl);
  if (!settings) {
    return tl::unexpected(settings.error());
  }

  std::map<std::vector<int>, StockPlan> known;
  for (const CommunicatorInfo& communicator : replay.workload_.communicators) {
    std::vector<int> gpus;
    for (const int device : communicator.devices) {
      gpus.push_back(device < 0 ? -1 : replay.workload_.devices[static_cast<size_t>(device)].gpu);
    }
    const bool whole = std::find(gpus.begin(), gpus.end(), -1) == gpus.end();
    if (gpus.size() < 2 || !whole) {  // incomplete ones carry no collective (match_collectives)
      replay.plans_.emplace_back();
      continue;
    }
    auto it = known.find(gpus);
    if (it == known.end()) {
      Result<StockPlan> plan = plan_stock(topology, gpus, *settings);
      if (!plan) {
        return tl::unexpected(plan.error());
      }
      plan->tuner_rules = options.tuner_rules;
      it = known.emplace(gpus, std::move(*plan)).first;
    }
    replay.plans_.push_back(it->second);
  }
  return replay;
}

Result<Schedule> Replay::schedule(const ModelFactors& factors) const {
  const Scene scene{*trace_, workload_, *gpu_, network_, plans_, 0, hardware_queues_};
  return run_engine(scene, factors);
}

Result<SimulationResult> Replay::run(const ModelFactors& factors) const {
  Result<Schedule> done = schedule(factors);
  if (!done) {
    return tl::unexpected(done.error());
  }
  Result<std::vector<StepTimes>> steps = find_steps(*trace_, workload_, *done, options_);
  if (!steps && options_.require_steps) {
    return tl::unexpected(steps.error());
  }
  return make_report(*trace_, workload_, *done, steps.value_or(std::vector<StepTimes>{}));
}

Result<double> Replay::median_step_us(const ModelFactors& factors) const {
  Result<Schedule> done = schedule(factors);
  if (!done) {
    return tl::unexpected(done.error());
  }
  Result<std::vector<StepTimes>> steps = find_steps(*trace_, workload_, *done, options_);
  if (!steps) {
    return tl::unexpected(steps.error());
  }
  std::vector<double> times;
  for (const StepTimes& step : *steps) {
    times.push_back(step.end_us - step.start_us);
  }
  return median(std::move(times));
}

Result<SimulationResult> simulate(const trace::Trace& trace, const Topology& topology,
                                  const GpuModel& gpu, const SimulationOptions& options) {
  Result<Replay> replay = Replay::prepare(trace, topology, gpu, options);
  if (!replay) {
    return tl::unexpected(replay.error());
  }
  return replay->run(options.factors);
}

}  // namespace braid::model
