// braid doctor: what is here, what would work, what stands in the way.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/command.hpp"
#include "cli/doctor/diagnosis.hpp"
#include "cli/json_output.hpp"
#include "cli/messages.hpp"
#include "model/topology.hpp"

namespace braid::cli {
namespace {

class DoctorCommand : public Command {
 public:
  const char* name() const override { return "doctor"; }
  const char* summary() const override {
    return "Say what is here, what would work, and what stands in the way";
  }

  void define(CLI::App& app) override {
    app.add_option("--virtual", virtual_box_, "Look at virtual GPUs of this topology instead")
        ->type_name("TOPOLOGY");
    json_.define(app);
  }

  int execute(const Invocation& invocation) override {
    std::string topology_path;
    if (!virtual_box_.empty()) {
      const auto path = find_topology(invocation.installation, virtual_box_);
      if (!path) {
        print_error(path.error());
        return kExitUsage;
      }
      if (const auto topology = model::read_topology_file(*path); !topology) {
        print_error(topology.error());
        return kExitUsage;
      }
      topology_path = *path;
    }
    const Diagnosis diagnosis =
        diagnose(invocation.installation, EnvironmentBlock::of_process(), topology_path);
    if (!json_.on_stdout()) {
      std::fputs(diagnosis_text(diagnosis).c_str(), stdout);
    }
    if (Status status = json_.write(diagnosis_json(diagnosis)); !status) {
      print_error(status.error());
      return kExitFailed;
    }
    return kExitDone;
  }

 private:
  std::string virtual_box_;
  JsonOption json_;
};

/// Started by doctor itself under another environment.
class ProbeCommand : public Command {
 public:
  const char* name() const override { return "__probe"; }
  const char* summary() const override { return "helper of doctor"; }
  bool hidden() const override { return true; }
  void define(CLI::App& app) override {
    app.add_option("--answer", answer_, "Where the answer goes")->required();
    app.add_option("--tuner", tuner_, "Path of the tuner plugin");
  }
  int execute(const Invocation&) override {
    const std::string text =
        probe_this_process(tuner_).dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace);
    const Status status = write_text_file(answer_, text);
    // Libraries under test may misbehave in their exit handlers; the answer is already written.
    std::fflush(nullptr);
    _exit(status ? kExitDone : kExitFailed);
  }

 private:
  std::string answer_, tuner_;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }
std::unique_ptr<Command> make_probe_command() { return std::make_unique<ProbeCommand>(); }

}  // namespace braid::cli
