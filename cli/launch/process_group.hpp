// Starts the processes of a job, passes signals on, and waits for all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::cli {

/// One process to start.
struct ProcessPlan {
  std::string program;                   // path of the file to run
  std::vector<std::string> arguments;    // argv, the name first
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::string tag;                       // "[3] " before each line of output; "" leaves it alone
};

struct ProcessGroupOptions {
  /// Seconds that the others may go on once one process has failed; then SIGTERM, and SIGKILL after
  /// as long again.
  double grace_seconds = 10;
  /// File that takes stdout and stderr of all processes; "": inherited.
  std::string log_file;
  /// Sends the job's stdout to stderr, so that stdout stays free for JSON.
  bool stdout_to_stderr = false;
  /// Asked about five times a second; true ends the job in good order (SIGTERM), which then counts
  /// as done. May be empty.
  std::function<bool()> should_stop;
};

/// How a job ended.
struct JobEnd {
  /// Exit status of the first process that failed, 128 + signal when it was killed; 0 when all
  /// ended with 0.
  int status = 0;
  int failed_process = -1;   // index into the plans, -1: none
  bool stopped = false;      // by should_stop
  int forwarded_signal = 0;  // last signal that was passed on
  std::string text;          // "process 2 was killed by signal 9 (Killed)"; "" when all is well
};

/// Runs all processes to their end. While it runs, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and
/// SIGUSR2 sent to braid are passed on (not those that the terminal already sent to the whole
/// foreground group). A single process shares braid's process group and terminal; several get a
/// group each, so that what they start ends with them. Call from one thread only.
Result<JobEnd> run_processes(const std::vector<ProcessPlan>& plans,
                             const ProcessGroupOptions& options);

}  // namespace braid::cli
