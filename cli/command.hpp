// What a subcommand of `braid` is: it defines its options, then runs.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/installation.hpp"

namespace braid::cli {

/// Exit codes of the command contract. `run` and `observe` end with the job's own status instead.
enum ExitCode : int { kExitDone = 0, kExitFailed = 1, kExitUsage = 2 };

/// What a subcommand is given besides its own options.
struct Invocation {
  std::vector<std::string> job;  // the words after "--"; empty when there was no "--"
  Installation installation;
};

/// A subcommand. `define` is called once before parsing, `execute` once after it.
class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;
  /// True: the command takes "-- CMD…"; otherwise words after "--" are refused.
  virtual bool takes_job() const { return false; }
  /// True: not listed by --help (helpers that braid starts itself).
  virtual bool hidden() const { return false; }
  virtual void define(CLI::App& app) = 0;
  virtual int execute(const Invocation& invocation) = 0;
};

std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_observe_command();
std::unique_ptr<Command> make_compare_command();
std::unique_ptr<Command> make_replay_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_probe_command();
std::unique_ptr<Command> make_topo_command();

}  // namespace braid::cli
