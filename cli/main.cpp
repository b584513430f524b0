// The `braid` command: parses, dispatches, and gives every failure its exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/messages.hpp"
#include "config/closest_match.hpp"

namespace braid::cli {
namespace {

constexpr const char* kDescription =
    "braid: makes multi-GPU training jobs faster without changing them.\n"
    "With no GPU the commands that run a job take --virtual TOPOLOGY.";

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_doctor_command());
  commands.push_back(make_topo_command());
  commands.push_back(make_observe_command());
  commands.push_back(make_run_command());
  commands.push_back(make_compare_command());
  commands.push_back(make_replay_command());
  commands.push_back(make_probe_command());
  return commands;
}

/// Parses `arguments` and runs the command chosen.
int dispatch(std::vector<std::string> arguments, Invocation* invocation, bool has_separator) {
  CLI::App app(kDescription, "braid");
  app.set_version_flag("--version", std::string("braid ") + BRAID_VERSION);
  app.require_subcommand(1);
  const std::vector<std::unique_ptr<Command>> commands = make_commands();
  std::vector<std::pair<CLI::App*, Command*>> registered;
  for (const auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    command->define(*sub);
    if (command->hidden()) {
      sub->group("");
    }
    if (command->takes_job()) {
      sub->footer("The job follows after --, e.g. braid " + std::string(command->name()) +
                  " -- torchrun train.py");
    }
    registered.emplace_back(sub, command.get());
  }
  // CLI11 would only say that a subcommand is required.
  if (!arguments.empty() && !arguments.front().starts_with('-')) {
    std::vector<std::string> names;
    for (const auto& command : commands) {
      if (!command->hidden()) {
        names.emplace_back(command->name());
      }
    }
    const bool known = std::any_of(commands.begin(), commands.end(), [&](const auto& command) {
      return arguments.front() == command->name();
    });
    if (!known) {
      print_error(fmt::format("there is no command '{}'{}; expected {}", arguments.front(),
                              config::suggestion(arguments.front(), names),
                              config::join_or(names)));
      return kExitUsage;
    }
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ExtrasError& error) {
    print_error(fmt::format("{}; a job to run is put after --, see braid --help", error.what()));
    return kExitUsage;
  } catch (const CLI::ParseError& error) {
    print_error(fmt::format("{}; see braid --help", error.what()));
    return kExitUsage;
  }
  for (const auto& [sub, command] : registered) {
    if (!sub->parsed()) {
      continue;
    }
    if (has_separator && !command->takes_job()) {
      print_error(
          fmt::format("braid {} runs no job; nothing was expected after --", command->name()));
      return kExitUsage;
    }
    return command->execute(*invocation);
  }
  return kExitUsage;
}

int run_main(int argc, char** argv) {
  Invocation invocation;
  std::vector<std::string> arguments;
  bool has_separator = false;
  for (int i = 1; i < argc; ++i) {
    if (!has_separator && std::string(argv[i]) == "--") {
      has_separator = true;
    } else {
      (has_separator ? invocation.job : arguments).emplace_back(argv[i]);
    }
  }
  auto installation = find_installation();
  if (!installation) {
    print_error(installation.error());
    return kExitFailed;
  }
  invocation.installation = std::move(*installation);
  return dispatch(std::move(arguments), &invocation, has_separator);
}

}  // namespace
}  // namespace braid::cli

int main(int argc, char** argv) {
  try {
    return braid::cli::run_main(argc, argv);
  } catch (const std::exception& error) {
    braid::cli::print_error(std::string("unexpected: ") + error.what());
    return braid::cli::kExitFailed;
  }
}
