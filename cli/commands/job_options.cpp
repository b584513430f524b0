#include "cli/commands/job_options.hpp"

namespace braid::cli {

void JobOptions::define(CLI::App& app) {
  app.add_option("--virtual", virtual_box,
                 "Run on virtual GPUs: an NCCL topology XML, or the name of a shipped one")
      ->type_name("TOPOLOGY");
  app.add_option("--nproc,--ranks", processes,
                 "Start N processes with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT "
                 "set, as torchrun does")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_flag("--tag-output", tag_output, "Put [rank] before each line the job prints");
  app.add_option("--grace", grace_seconds,
                 "Seconds the other ranks may go on once one has failed (default 10)")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
}

ProcessGroupOptions JobOptions::process_options() const {
  ProcessGroupOptions options;
  options.grace_seconds = grace_seconds;
  return options;
}

}  // namespace braid::cli
