// braid run and braid observe: the user's job with the preload, ending with the job's own status.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "cli/command.hpp"
#include "cli/commands/job_options.hpp"
#include "cli/format.hpp"
#include "cli/json_output.hpp"
#include "cli/launch/job.hpp"
#include "cli/launch/scratch_folder.hpp"
#include "cli/messages.hpp"
#include "cli/traces/step_watch.hpp"
#include "cli/traces/trace_json.hpp"
#include "cli/traces/trace_summary.hpp"
#include "model/trace.hpp"

namespace braid::cli {
namespace {

size_t count_traces(const std::string& folder) {
  size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    count += entry.path().extension() == ".braidtrace";
  }
  return count;
}

/// What both commands share: start, wait, report.
class JobCommand : public Command {
 public:
  bool takes_job() const override { return true; }

 protected:
  void define_common(CLI::App& app) {
    options_.define(app);
    app.add_option("--trace", request_.trace_folder, "Folder for one trace file a process")
        ->type_name("DIR");
    app.add_option("--steps", steps_, "End the job after N steps")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    json_.define(app);
  }

  /// Checks, runs and summarises `request_`.
  int launch(const Invocation& invocation) {
    const EnvironmentBlock base = EnvironmentBlock::of_process();
    request_.command = invocation.job;
    request_.virtual_box = options_.virtual_box;
    request_.processes = options_.processes;
    request_.tag_output = options_.tag_output;
    if (request_.policy.empty() && request_.mode == config::Mode::kAuto) {
      request_.policy = base.get_or("BRAID_POLICY", "");
    }
    if (request_.frozen && request_.policy.empty()) {
      print_error("--frozen carries out a policy as it stands; give the policy with --policy FILE");
      return kExitUsage;
    }
    if (steps_ > 0 && request_.mode == config::Mode::kOff) {
      print_error("--steps counts steps in the trace, and nothing is recorded under --mode off");
      return kExitUsage;
    }
    if (!json_.file().empty()) {
      if (Status status = check_writable(json_.file()); !status) {
        print_error(status.error());
        return kExitUsage;
      }
    }
    if (steps_ > 0 && request_.trace_folder.empty()) {
      auto made = ScratchFolder::make(base.get_or("TMPDIR", "/tmp"), "braid-trace");
      if (!made) {
        print_error(made.error());
        return kExitUsage;
      }
      scratch_ = std::move(*made);
      request_.trace_folder = scratch_.path();
    }
    const auto job = check_job(request_, invocation.installation, base);
    if (!job) {
      print_error(job.error());
      return kExitUsage;
    }
    if (const size_t old = count_traces(job->trace_folder); old > 0) {
      print_warning(
          fmt::format("{} already holds {} trace files; they are read together with the new "
                      "ones",
                      job->trace_folder, old));
    }
    ProcessGroupOptions process_options = options_.process_options();
    process_options.stdout_to_stderr = json_.on_stdout();
    std::optional<StepWatch> watch;
    if (steps_ > 0) {
      watch.emplace(job->trace_folder, steps_);
      process_options.should_stop = [&watch] { return watch->reached(); };
    }
    const auto end = run_job(*job, invocation.installation, base, process_options);
    if (!end) {
      print_error(end.error());
      return kExitUsage;  // nothing ran
    }
    if (!end->text.empty()) {
      print_note(end->text);
    }
    if (watch && !end->stopped) {
      print_note(fmt::format("the job ended before {} steps were seen", steps_));
    }
    return report(*job, *end) ? end->status : std::max(end->status, static_cast<int>(kExitFailed));
  }

  /// Prints what the trace holds. False: a report that was asked for could not be written.
  bool report(const CheckedJob& job, const JobEnd& end) {
    Json document;
    document["status"] = end.status;
    document["command"] = name();
    const bool keeps_trace = !job.trace_folder.empty() && job.trace_folder != scratch_.path();
    document["trace"] = keeps_trace ? Json(job.trace_folder) : Json(nullptr);
    if (keeps_trace) {
      auto trace = model::trace::read_trace(job.trace_folder);
      if (trace) {
        const TraceSummary summary = summarize_trace(*trace);
        document["summary"] = summary_json(summary);
        document["warnings"] = trace->warnings;
        show(job, summary, trace->warnings);
      } else {
        document["summary"] = nullptr;
        document["warnings"] = std::vector<std::string>{trace.error().text()};
        print_warning(fmt::format("no trace to show: {}", trace.error().text()));
      }
    }
    if (Status status = json_.write(document); !status) {
      print_error(status.error());
      return false;
    }
    return true;
  }

  virtual void show(const CheckedJob& job, const TraceSummary& summary,
                    const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      print_warning(warning);
    }
    print_note(fmt::format("trace in {}", job.trace_folder));
    if (name() == std::string("observe")) {
      const std::string table = collectives_table(summary);
      std::fputs(table.empty() ? "  (the job made no NCCL call)\n" : table.c_str(), stderr);
      std::fputs(
          fmt::format("  besides: {} GEMMs, {} kernels, {} copies, in {} file{}\n", summary.gemms,
                      summary.kernels, summary.copies, summary.files, summary.files == 1 ? "" : "s")
              .c_str(),
          stderr);
    }
  }

  JobOptions options_;
  JobRequest request_;
  int steps_ = 0;
  JsonOption json_;
  ScratchFolder scratch_;  // trace of --steps without --trace
};

class RunCommand : public JobCommand {
 public:
  const char* name() const override { return "run"; }
  const char* summary() const override {
    return "Run a job under braid: rewrite what the policy allows";
  }
  void define(CLI::App& app) override {
    app.add_option(
           "--policy", request_.policy,
           "Policy file, or the name of a shipped one (default: $BRAID_POLICY, else schemes "
           "only)")
        ->type_name("FILE");
    app.add_flag("--frozen", request_.frozen, "Carry out the policy as it stands; learn nothing");
    app.add_option("--plan-out", request_.plan_out,
                   "Write the final plan: a policy whose runs under --frozen give the same bits as "
                   "each other")
        ->type_name("FILE");
    app.add_option("--mode", mode_, "off: exactly stock; observe: record only; auto (default)")
        ->check(CLI::IsMember({"off", "observe", "auto"}))
        ->type_name("MODE");
    define_common(app);
  }
  int execute(const Invocation& invocation) override {
    static const std::map<std::string, config::Mode> kModes = {{"off", config::Mode::kOff},
                                                               {"observe", config::Mode::kObserve},
                                                               {"auto", config::Mode::kAuto}};
    request_.mode = kModes.at(mode_);
    return launch(invocation);
  }

 private:
  std::string mode_ = "auto";
};

class ObserveCommand : public JobCommand {
 public:
  const char* name() const override { return "observe"; }
  const char* summary() const override { return "Record a job that runs as it always did"; }
  void define(CLI::App& app) override { define_common(app); }
  int execute(const Invocation& invocation) override {
    request_.mode = config::Mode::kObserve;
    if (request_.trace_folder.empty()) {
      request_.trace_folder = fmt::format("./braid-trace-{}", getpid());
    }
    return launch(invocation);
  }
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }
std::unique_ptr<Command> make_observe_command() { return std::make_unique<ObserveCommand>(); }

}  // namespace braid::cli
