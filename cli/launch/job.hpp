// A job under braid: what is checked before, the environment it gets, and its run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/installation.hpp"
#include "cli/launch/environment_block.hpp"
#include "cli/launch/process_group.hpp"
#include "config/environment.hpp"
#include "config/policy.hpp"
#include "config/result.hpp"
#include "model/topology.hpp"

namespace braid::cli {

/// What the user asked for.
struct JobRequest {
  std::vector<std::string> command;
  config::Mode mode = config::Mode::kAuto;
  std::string policy;  // path or shipped name; "" none
  bool frozen = false;
  std::string plan_out;      // where the final plan goes; "": nowhere
  std::string virtual_box;   // topology path or shipped name; "" real GPUs
  std::string trace_folder;  // "" none
  int processes = 0;         // 0: start the command once, without rank variables
  bool tag_output = false;
  std::vector<std::pair<std::string, std::string>> environment;  // set last
};

/// The request after all its files were read and checked.
struct CheckedJob {
  JobRequest request;
  std::string program;      // path of the command's file
  std::string policy_path;  // absolute
  std::optional<config::Policy> policy;
  std::string topology_path;  // absolute
  std::optional<model::Topology> topology;
  std::string trace_folder;  // absolute
};

/// Checks everything that can be known before the job runs: the program, braid's own files, policy
/// and topology, the number of GPUs against the number of ranks, and that virtual GPUs can serve
/// the program. Nothing is created.
Result<CheckedJob> check_job(const JobRequest& request, const Installation& installation,
                             const EnvironmentBlock& base);

/// The job's environment. `session` is the virtual box's folder, "" on real GPUs.
EnvironmentBlock build_environment(const CheckedJob& job, const Installation& installation,
                                   const EnvironmentBlock& base, const std::string& session);

/// Adds what torchrun would set for one rank.
void set_rank_variables(EnvironmentBlock* environment, int rank, int world_size, int port);

/// A TCP port of this host that is free now.
Result<int> find_free_port();

/// Makes the trace folder, starts the job, waits for its end, removes the virtual box.
Result<JobEnd> run_job(const CheckedJob& job, const Installation& installation,
                       const EnvironmentBlock& base, const ProcessGroupOptions& options);

}  // namespace braid::cli
