#include "cli/compare/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/launch/program.hpp"
#include "cli/traces/step_watch.hpp"

namespace braid::cli {
namespace fs = std::filesystem;
namespace {

/// The last lines of a log, for messages.
std::string tail_of(const std::string& path, size_t lines) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  size_t begin = text.size();
  for (size_t seen = 0; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && begin != text.size() && ++seen == lines) {
      break;
    }
  }
  return text.substr(begin);
}

class Runner {
 public:
  Runner(const ComparisonRequest& request, const Installation& installation,
         const EnvironmentBlock& base, Progress* progress)
      : request_(request), installation_(installation), base_(base), progress_(*progress) {}

  Result<Comparison> run() {
    const auto digest = digest_file(request_.stock_job.program);
    if (!digest) {
      return tl::unexpected(digest.error());
    }
    out_.program_digest = *digest;
    char host[256] = "unknown";
    gethostname(host, sizeof host - 1);
    out_.host = host;
    for (const Arm& arm : request_.arms) {
      ArmResult result;
      result.arm = arm;
      result.folder = (fs::path(request_.folder) / arm.name).string();
      result.settings = settings_of(arm);
      out_.arms.push_back(std::move(result));
    }
    for (const int index : order()) {
      ArmResult& arm = out_.arms[static_cast<size_t>(index)];
      if (!arm.ok()) {
        continue;
      }
      progress_.step(fmt::format("arm {}: running{}", arm.arm.name,
                                 request_.predicted() ? " on virtual GPUs" : ""));
      if (Status status = run_arm(&arm); !status) {
        if (arm.arm.kind != Arm::Kind::kSettings) {
          return tl::unexpected(status.error());
        }
        arm.error = status.error().text();
      }
    }
    if (Status status = evaluate(); !status) {
      return tl::unexpected(status.error());
    }
    add_notes();
    return std::move(out_);
  }

 private:
  std::vector<int> order() const {
    const int count = static_cast<int>(request_.arms.size());
    if (!request_.predicted()) {
      return alternating_order(count, request_.rounds);
    }
    std::vector<int> order;
    for (int i = 0; i < count; ++i) {
      order.push_back(i);
    }
    return order;
  }

  CheckedJob job_of(const ArmResult& arm, const std::string& trace_folder) const {
    CheckedJob job = arm.arm.kind == Arm::Kind::kBraid ? request_.braid_job : request_.stock_job;
    job.request.environment = arm.arm.environment;
    job.trace_folder = trace_folder;
    return job;
  }

  std::vector<std::pair<std::string, std::string>> settings_of(const Arm& arm) const {
    std::vector<std::pair<std::string, std::string>> settings = arm.environment;
    if (arm.kind == Arm::Kind::kBraid) {
      settings.insert(settings.begin(), {"BRAID_MODE", "auto"});
      if (request_.braid_job.policy) {
        settings.insert(settings.begin() + 1, {"BRAID_POLICY", request_.braid_job.policy_path});
      }
    } else {
      settings.insert(settings.begin(), {"BRAID_MODE", "observe"});
    }
    return settings;
  }

  Status run_arm(ArmResult* arm) {
    if (const auto digest = digest_file(request_.stock_job.program);
        !digest || *digest != out_.program_digest) {
      return fail(request_.stock_job.program,
                  "changed while the arms ran; a comparison needs the "
                  "same program in all of them");
    }
    const std::string trace_folder = arm->folder + "/trace";
    std::error_code error;
    fs::remove_all(trace_folder, error);
    fs::create_directories(trace_folder, error);
    if (error) {
      return fail(trace_folder, fmt::format("cannot be created: {}", error.message()));
    }
    std::vector<std::optional<FileStamp>> before;
    for (const ResultFile& result : request_.results) {
      before.push_back(stamp_of(result.path));
    }
    ProcessGroupOptions options = request_.process_options;
    options.log_file = arm->folder + "/log.txt";
    const StepRule rule = step_rule();
    StepWatch watch(trace_folder, request_.steps, rule);
    if (request_.steps > 0) {
      options.should_stop = [&watch] { return watch.reached(); };
    }
    const auto end = run_job(job_of(*arm, trace_folder), installation_, base_, options);
    if (!end) {
      return tl::unexpected(end.error());
    }
    if (end->status != 0 || end->forwarded_signal != 0) {
      return fail("arm " + arm->arm.name,
                  fmt::format("{}\nthe end of {}:\n{}",
                              end->text.empty() ? "the job was interrupted" : end->text,
                              options.log_file, tail_of(options.log_file, 12)));
    }
    if (Status status = keep_results(*arm, before); !status) {
      return status;
    }
    auto trace = model::trace::read_trace(trace_folder);
    if (!trace) {
      return fail(
          "arm " + arm->arm.name,
          fmt::format("{} (a job that makes no NCCL call, or has NCCL linked in statically, "
                      "leaves no trace)",
                      trace.error().text()));
    }
    arm->trace = std::move(*trace);
    arm->summary = summarize_trace(arm->trace);
    if (arm->summary.collectives.empty()) {
      return fail("arm " + arm->arm.name,
                  "the job made no NCCL call that braid saw, so there is no step to compare");
    }
    return request_.predicted() ? Status{} : add_run(arm->trace, rule, &arm->measured);
  }

  StepRule step_rule() const {
    return {request_.simulation.step_range, request_.simulation.step_collective,
            request_.simulation.step_every};
  }

  /// Copies the result files this run wrote into the arm's folder.
  Status keep_results(const ArmResult& arm, const std::vector<std::optional<FileStamp>>& before) {
    for (size_t i = 0; i < request_.results.size(); ++i) {
      const std::string& path = request_.results[i].path;
      const auto now = stamp_of(path);
      if (!now || now == before[i]) {
        return fail("--result " + path,
                    fmt::format("was not written by the job in arm {}", arm.arm.name));
      }
      std::error_code error;
      fs::copy_file(path, result_copy(arm, i), fs::copy_options::overwrite_existing, error);
      if (error) {
        return fail(
            path, fmt::format("cannot be copied to {}: {}", result_copy(arm, i), error.message()));
      }
    }
    return {};
  }

  static std::string result_copy(const ArmResult& arm, size_t index) {
    return fmt::format("{}/result-{}", arm.folder, index);
  }

  Status evaluate() {
    for (ArmResult& arm : out_.arms) {
      if (!arm.ok()) {
        continue;
      }
      progress_.step(fmt::format("arm {}: {}", arm.arm.name,
                                 request_.predicted() ? "predicting" : "evaluating"));
      if (request_.predicted()) {
        // NCCL's choice is not in a trace: the replay makes it again, with the tuner the arm had.
        model::SimulationOptions simulation = request_.simulation;
        if (arm.arm.kind == Arm::Kind::kBraid && request_.braid_job.policy) {
          simulation.tuner_rules = request_.braid_job.policy->tuner_rules;
        }
        auto forecast =
            forecast_arm(arm.trace, *request_.stock_job.topology, *request_.gpu, simulation);
        if (!forecast) {
          const Error error{"arm " + arm.arm.name, forecast.error().text()};
          if (arm.arm.kind != Arm::Kind::kSettings) {
            return tl::unexpected(error);
          }
          arm.error = error.text();
          continue;
        }
        arm.forecast = std::move(*forecast);
        arm.step = step_interval(*arm.forecast);
        arm.speedup = speedup_interval(*out_.stock().forecast, *arm.forecast);
      } else {
        arm.step = measured_interval(arm.measured);
        arm.speedup = measured_speedup(out_.stock().measured, arm.measured);
      }
    }
    for (size_t i = 0; i < request_.results.size(); ++i) {
      const auto difference = max_abs_difference(
          result_copy(out_.stock(), i), result_copy(out_.braid(), i), request_.results[i].type);
      if (!difference) {
        return tl::unexpected(difference.error());
      }
      out_.max_abs_diff = std::max(out_.max_abs_diff.value_or(0), *difference);
    }
    return {};
  }

  void add_notes() {
    std::vector<std::string>& notes = out_.notes;
    if (request_.predicted()) {
      notes.push_back(
          "All times are predicted by a simulation of the recorded work; nothing was "
          "measured on GPUs. The intervals span the uncertainty of the model's "
          "constants, which move together in all arms. What the program computes on "
          "the CPU between its calls is not in the times.");
    } else {
      notes.push_back(
          "Times are measured on the host between the starts of steps; intervals are "
          "95 % by resampling runs and steps.");
    }
    for (const ArmResult& arm : out_.arms) {
      for (const std::string& warning : arm.trace.warnings) {
        notes.push_back(fmt::format("Arm {}: {}", arm.arm.name, warning));
      }
      if (arm.forecast) {
        for (const std::string& warning : arm.forecast->central.warnings) {
          notes.push_back(fmt::format("Arm {}: {}", arm.arm.name, warning));
        }
      }
    }
    add_guesses();
    if (!request_.braid_job.policy) {
      notes.push_back("braid ran without a policy: schemes only, no GEMM was started early.");
    }
  }

  /// Kernels whose duration the model guessed; nearly the same in all arms, so stock's stand for
  /// all.
  void add_guesses() {
    constexpr size_t kShown = 4;
    if (!out_.stock().forecast || out_.stock().forecast->central.guesses.empty()) {
      return;
    }
    std::vector<std::string> guesses = out_.stock().forecast->central.guesses;
    const size_t more = guesses.size() > kShown ? guesses.size() - kShown : 0;
    guesses.resize(guesses.size() - more);
    out_.notes.push_back(fmt::format(
        "Guessed durations in arm stock: {}{}.", fmt::join(guesses, "; "),
        more > 0 ? fmt::format("; and {} more (--json lists them for each arm)", more) : ""));
  }

  const ComparisonRequest& request_;
  const Installation& installation_;
  const EnvironmentBlock& base_;
  Progress& progress_;
  Comparison out_;
};

}  // namespace

std::vector<std::string> ArmResult::algorithms() const {
  return forecast ? forecast->central.algorithms : std::vector<std::string>{};
}

const ArmResult& Comparison::best_other() const {
  const ArmResult* best = &stock();
  for (size_t i = 0; i + 1 < arms.size(); ++i) {
    if (arms[i].ok() && arms[i].step.step_us < best->step.step_us) {
      best = &arms[i];
    }
  }
  return *best;
}

Result<Comparison> run_comparison(const ComparisonRequest& request,
                                  const Installation& installation, const EnvironmentBlock& base,
                                  Progress* progress) {
  return Runner(request, installation, base, progress).run();
}

}  // namespace braid::cli
