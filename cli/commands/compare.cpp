// braid compare: the same program under stock NCCL, other settings and braid.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/command.hpp"
#include "cli/commands/job_options.hpp"
#include "cli/commands/step_options.hpp"
#include "cli/compare/comparison.hpp"
#include "cli/gpu_choice.hpp"
#include "cli/launch/scratch_folder.hpp"
#include "cli/report/report_page.hpp"

namespace braid::cli {
namespace {

class CompareCommand : public Command {
 public:
  const char* name() const override { return "compare"; }
  const char* summary() const override {
    return "Run a job under stock NCCL, other settings and braid, and compare step times";
  }
  bool takes_job() const override { return true; }

  void define(CLI::App& app) override {
    job_.define(app);
    app.add_option("--gpu", gpu_, "GPU model of the prediction (default: by the topology's sm)")
        ->type_name("NAME");
    app.add_option("--policy", policy_, "Policy of the braid arm (default: the shipped 'overlap')")
        ->type_name("FILE");
    app.add_flag("--frozen", frozen_, "braid carries out the policy as it stands");
    app.add_option("--arm", user_arms_, "One more arm: settings the job runs with under stock NCCL")
        ->type_name("NAME:VARIABLE=VALUE[,…]")
        ->expected(1)
        ->take_all();
    app.add_option("--arms", shipped_arms_,
                   "Shipped arms: tree, p2p-sys, graph=FILE, nccl=PATH, or none (default: "
                   "tree,p2p-sys)")
        ->type_name("LIST");
    app.add_option(
           "--result", results_,
           "A file the job writes; stock's and braid's are compared. Types: f32 f16 bf16 f64")
        ->type_name("FILE[:TYPE]")
        ->expected(1)
        ->take_all();
    app.add_option("--report", report_, "Write a self-contained HTML report")->type_name("FILE");
    app.add_option("--keep", keep_, "Keep traces, logs and results of all arms here")
        ->type_name("DIR");
    app.add_option("--steps", steps_, "End each arm after N steps")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    app.add_option("--rounds", rounds_, "On real GPUs: how often each arm runs there and back")
        ->check(CLI::Range(1, 1000))
        ->type_name("N");
    step_.define(app);
    json_.define(app);
  }

  int execute(const Invocation& invocation) override {
    const EnvironmentBlock base = EnvironmentBlock::of_process();
    ComparisonRequest request;
    if (Status status = check(invocation, base, &request); !status) {
      print_error(status.error());
      return kExitUsage;
    }
    ScratchFolder scratch;
    if (Status status = prepare_folder(base, &request, &scratch); !status) {
      print_error(status.error());
      return kExitUsage;
    }
    const int runs =
        static_cast<int>(request.arms.size()) * (request.predicted() ? 1 : 2 * request.rounds);
    Progress progress(runs + static_cast<int>(request.arms.size()));
    auto comparison = run_comparison(request, invocation.installation, base, &progress);
    progress.clear();
    if (!comparison) {
      scratch.keep();
      print_error(comparison.error());
      print_note(fmt::format("traces and logs are in {}", request.folder));
      return kExitFailed;
    }
    if (keep_.empty()) {
      request.folder.clear();
    }
    return write_results(request, *comparison);
  }

 private:
  Status check(const Invocation& invocation, const EnvironmentBlock& base,
               ComparisonRequest* request) {
    for (const std::string& output : {json_.file(), report_}) {
      if (Status status = output.empty() ? Status{} : check_writable(output); !status) {
        return status;
      }
    }
    auto arms = make_arms(shipped_arms_, user_arms_, !job_.virtual_box.empty());
    if (!arms) {
      return tl::unexpected(arms.error());
    }
    request->arms = std::move(*arms);
    for (const std::string& text : results_) {
      auto result = parse_result_file(text);
      if (!result) {
        return tl::unexpected(result.error());
      }
      request->results.push_back(std::move(*result));
    }
    auto simulation = step_.simulation_options();
    if (!simulation) {
      return tl::unexpected(simulation.error());
    }
    request->simulation = std::move(*simulation);
    if (Status status = check_jobs(invocation, base, request); !status) {
      return status;
    }
    if (request->predicted()) {
      auto choice = choose_gpu(*request->stock_job.topology, gpu_);
      if (!choice) {
        return tl::unexpected(choice.error());
      }
      request->gpu = std::move(choice->gpu);
      request->gpu_why = choice->why;
    } else if (!gpu_.empty()) {
      return fail("--gpu",
                  "names the GPU model of a prediction; without --virtual times are measured");
    }
    request->steps = steps_;
    request->rounds = rounds_;
    request->process_options = job_.process_options();
    return {};
  }

  Status check_jobs(const Invocation& invocation, const EnvironmentBlock& base,
                    ComparisonRequest* request) {
    JobRequest stock;
    stock.command = invocation.job;
    stock.mode = config::Mode::kObserve;
    stock.virtual_box = job_.virtual_box;
    stock.processes = job_.processes;
    stock.tag_output = job_.tag_output;
    JobRequest braid = stock;
    braid.mode = config::Mode::kAuto;
    braid.frozen = frozen_;
    braid.policy = policy_.empty() ? "overlap" : policy_;
    auto stock_job = check_job(stock, invocation.installation, base);
    if (!stock_job) {
      return tl::unexpected(stock_job.error());
    }
    auto braid_job = check_job(braid, invocation.installation, base);
    if (!braid_job) {
      return tl::unexpected(braid_job.error());
    }
    request->stock_job = std::move(*stock_job);
    request->braid_job = std::move(*braid_job);
    return {};
  }

  Status prepare_folder(const EnvironmentBlock& base, ComparisonRequest* request,
                        ScratchFolder* scratch) const {
    if (keep_.empty()) {
      auto made = ScratchFolder::make(base.get_or("TMPDIR", "/tmp"), "braid-compare");
      if (!made) {
        return tl::unexpected(made.error());
      }
      *scratch = std::move(*made);
      request->folder = scratch->path();
      return {};
    }
    std::error_code error;
    std::filesystem::create_directories(keep_, error);
    if (error) {
      return fail("--keep " + keep_, fmt::format("cannot be created: {}", error.message()));
    }
    request->folder = std::filesystem::absolute(keep_).lexically_normal().string();
    return {};
  }

  int write_results(const ComparisonRequest& request, const Comparison& comparison) const {
    if (!json_.on_stdout()) {
      std::fputs(comparison_text(request, comparison).c_str(), stdout);
    }
    int status = kExitDone;
    if (!report_.empty()) {
      if (Status written = write_text_file(report_, report_page(request, comparison)); written) {
        print_note(fmt::format("report in {}", report_));
      } else {
        print_error(written.error());
        status = kExitFailed;
      }
    }
    if (Status written = json_.write(comparison_json(request, comparison)); !written) {
      print_error(written.error());
      status = kExitFailed;
    }
    return status;
  }

  JobOptions job_;
  StepOptions step_;
  JsonOption json_;
  std::string gpu_, policy_, report_, keep_;
  std::string shipped_arms_ = "tree,p2p-sys";
  std::vector<std::string> user_arms_, results_;
  bool frozen_ = false;
  int steps_ = 0;
  int rounds_ = 1;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace braid::cli
