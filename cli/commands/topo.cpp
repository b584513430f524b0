// braid topo: a box, and what stock NCCL makes of it.
#include <fmt/format.h>

#include <cstdio>

#include "cli/command.hpp"
#include "cli/doctor/live_gpus.hpp"
#include "cli/doctor/live_topology.hpp"
#include "cli/json_output.hpp"
#include "cli/messages.hpp"
#include "cli/report/box.hpp"

namespace braid::cli {
namespace {

class TopoCommand : public Command {
 public:
  const char* name() const override { return "topo"; }
  const char* summary() const override {
    return "Show a box: its links, and what stock NCCL does on it";
  }

  void define(CLI::App& app) override {
    app.add_option("FILE", file_,
                   "NCCL topology XML (as NCCL_TOPO_DUMP_FILE writes it), or the "
                   "name of a shipped one");
    app.add_flag("--live", live_, "This machine instead of a file");
    app.add_option("--svg", svg_, "Draw the box into this file")->type_name("FILE");
    json_.define(app);
  }

  int execute(const Invocation& invocation) override {
    if (live_ != file_.empty()) {
      std::string text = "give either a topology file or --live";
      if (!live_ && !json_.file().empty()) {
        text += fmt::format(
            "; --json took {} as its output file: put the topology first, as in "
            "`braid topo FILE --json`",
            json_.file());
      }
      print_error(text);
      return kExitUsage;
    }
    for (const std::string& output : {json_.file(), svg_}) {
      if (Status status = output.empty() ? Status{} : check_writable(output); !status) {
        print_error(status.error());
        return kExitUsage;
      }
    }
    if (live_) {
      return execute_live();
    }
    const auto path = find_topology(invocation.installation, file_);
    if (!path) {
      print_error(path.error());
      return kExitUsage;
    }
    auto topology = model::read_topology_file(*path);
    if (!topology) {
      print_error(topology.error());
      return kExitUsage;
    }
    return show(describe_box(std::move(*topology), {}));
  }

 private:
  int execute_live() {
    const LiveGpus live = probe_live_gpus();
    if (live.gpus.empty()) {
      print_error(fmt::format("--live: no GPU on this machine: {}", live.reason));
      return kExitFailed;
    }
    const auto xml = live_topology_xml(live.gpus, "");
    if (!xml) {
      print_error(xml.error());
      return kExitFailed;
    }
    auto topology = model::read_topology_text(*xml, "this machine");
    if (!topology) {
      print_error(topology.error());
      return kExitFailed;
    }
    return show(describe_box(std::move(*topology), {}));
  }

  int show(const Box& box) {
    if (!json_.on_stdout()) {
      std::fputs(box_text(box).c_str(), stdout);
    }
    if (!svg_.empty()) {
      if (Status status = write_text_file(svg_, box_svg(box)); !status) {
        print_error(status.error());
        return kExitFailed;
      }
      print_note(fmt::format("drawing in {}", svg_));
    }
    if (Status status = json_.write(box_json(box)); !status) {
      print_error(status.error());
      return kExitFailed;
    }
    return kExitDone;
  }

  std::string file_;
  bool live_ = false;
  std::string svg_;
  JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_topo_command() { return std::make_unique<TopoCommand>(); }

}  // namespace braid::cli
