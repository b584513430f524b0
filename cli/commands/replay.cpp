// braid replay: a trace on a topology and a GPU model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "cli/command.hpp"
#include "cli/commands/step_options.hpp"
#include "cli/compare/forecast.hpp"
#include "cli/format.hpp"
#include "cli/gpu_choice.hpp"
#include "cli/json_output.hpp"
#include "cli/messages.hpp"
#include "cli/report/perfetto.hpp"
#include "cli/text_table.hpp"
#include "cli/traces/trace_json.hpp"

namespace braid::cli {
namespace {

class ReplayCommand : public Command {
 public:
  const char* name() const override { return "replay"; }
  const char* summary() const override {
    return "Predict when everything in a trace runs on a given box";
  }

  void define(CLI::App& app) override {
    app.add_option("TRACE", trace_, "Trace folder or file, as observe writes it")->required();
    app.add_option("--topology", topology_, "NCCL topology XML, or the name of a shipped one")
        ->required()
        ->type_name("FILE");
    app.add_option("--gpu", gpu_, "GPU model (default: by the topology's sm)")->type_name("NAME");
    app.add_option("--perfetto", perfetto_, "Write the timeline for Perfetto or chrome://tracing")
        ->type_name("FILE");
    app.add_option("--nccl", nccl_, "Assume an NCCL setting, e.g. NCCL_ALGO=Tree")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->take_all();
    steps_.define(app);
    json_.define(app);
  }

  int execute(const Invocation& invocation) override {
    if (const Status status = read_inputs(invocation.installation); !status) {
      print_error(status.error());
      return kExitUsage;
    }
    Progress progress(2, json_.on_stdout());
    progress.step(fmt::format("simulating {} file{} on {}", read_.ranks.size(),
                              read_.ranks.size() == 1 ? "" : "s", box_.path));
    const auto forecast = forecast_arm(read_, box_, choice_.gpu, options_);
    if (!forecast) {
      progress.clear();
      print_error(forecast.error());
      return kExitFailed;
    }
    progress.step("writing results");
    if (!perfetto_.empty()) {
      const Status status = write_text_file(perfetto_, perfetto_json(read_, forecast->central));
      if (!status) {
        progress.clear();
        print_error(status.error());
        return kExitFailed;
      }
    }
    progress.clear();
    if (!json_.on_stdout()) {
      print_text(*forecast);
    }
    if (const Status status = json_.write(document(*forecast)); !status) {
      print_error(status.error());
      return kExitFailed;
    }
    return kExitDone;
  }

 private:
  Status read_inputs(const Installation& installation) {
    for (const std::string& output : {json_.file(), perfetto_}) {
      if (Status status = output.empty() ? Status{} : check_writable(output); !status) {
        return status;
      }
    }
    const auto path = find_topology(installation, topology_);
    if (!path) {
      return tl::unexpected(path.error());
    }
    auto box = model::read_topology_file(*path);
    if (!box) {
      return tl::unexpected(box.error());
    }
    box_ = std::move(*box);
    auto choice = choose_gpu(box_, gpu_);
    if (!choice) {
      return tl::unexpected(choice.error());
    }
    choice_ = std::move(*choice);
    auto options = steps_.simulation_options();
    if (!options) {
      return tl::unexpected(options.error());
    }
    options_ = std::move(*options);
    std::vector<std::pair<std::string, std::string>> settings;
    for (const std::string& text : nccl_) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos || !text.starts_with("NCCL_")) {
        return fail("--nccl " + text, "an NCCL variable was expected, as in NCCL_ALGO=Tree");
      }
      settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    auto nccl = model::read_nccl_settings(settings);
    if (!nccl) {
      return fail("--nccl", nccl.error().text());
    }
    options_.nccl = std::move(*nccl);
    auto read = model::trace::read_trace(trace_);
    if (!read) {
      return tl::unexpected(read.error());
    }
    read_ = std::move(*read);
    return {};
  }

  void print_text(const Forecast& forecast) const {
    const model::SimulationResult& result = forecast.central;
    for (const std::string& warning : read_.warnings) {
      print_warning(warning);
    }
    for (const std::string& warning : result.warnings) {
      print_warning(warning);
    }
    const model::Prediction step = step_interval(forecast);
    fmt::print("predicted on {} with the {} model ({})\n\n", box_.path, choice_.gpu.name,
               choice_.why);
    TextTable table({{"quantity"}, {"predicted", true}, {"interval"}});
    table.add_row({"step", format_time(step.step_us),
                   fmt::format("{} … {}", format_time(step.low_us), format_time(step.high_us))});
    table.add_row(
        {"of it exposed communication", format_time(result.exposed_communication_us), ""});
    table.add_row({"steps in the trace", std::to_string(result.step_us.size()), ""});
    table.add_row({"whole trace", format_time(result.total_us), ""});
    std::fputs(table.text().c_str(), stdout);
    print_list("algorithms", result.algorithms);
    print_list("guesses", result.guesses);
    if (!perfetto_.empty()) {
      fmt::print("\ntimeline in {} (open in https://ui.perfetto.dev)\n", perfetto_);
    }
  }

  static void print_list(const char* heading, const std::vector<std::string>& lines) {
    if (!lines.empty()) {
      fmt::print("\n{}\n  {}\n", heading, fmt::join(lines, "\n  "));
    }
  }

  Json document(const Forecast& forecast) const {
    const model::SimulationResult& result = forecast.central;
    const model::Prediction step = step_interval(forecast);
    Json out;
    out["predicted"] = true;
    out["topology"] = box_.path;
    out["gpu"] = choice_.gpu.name;
    out["gpu_chosen_by"] = choice_.why;
    out["step_us"] = step.step_us;
    out["interval"] = {step.low_us, step.high_us};
    out["steps_us"] = result.step_us;
    out["total_us"] = result.total_us;
    out["exposed_communication_us"] = result.exposed_communication_us;
    out["algorithms"] = result.algorithms;
    out["guesses"] = result.guesses;
    out["summary"] = summary_json(summarize_trace(read_));
    std::vector<std::string> warnings = read_.warnings;
    warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
    out["warnings"] = warnings;
    out["perfetto"] = perfetto_.empty() ? Json(nullptr) : Json(perfetto_);
    return out;
  }

  std::string trace_, topology_, gpu_, perfetto_;
  std::vector<std::string> nccl_;
  StepOptions steps_;
  JsonOption json_;

  model::Topology box_;
  GpuChoice choice_;
  model::SimulationOptions options_;
  model::trace::Trace read_;
};

}  // namespace

std::unique_ptr<Command> make_replay_command() { return std::make_unique<ReplayCommand>(); }

}  // namespace braid::cli
