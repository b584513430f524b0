// Options that run, observe and compare share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/launch/process_group.hpp"

namespace braid::cli {

/// How a job's processes are started.
struct JobOptions {
  std::string virtual_box;
  int processes = 0;
  bool tag_output = false;
  double grace_seconds = 10;

  /// Registers --virtual, --nproc (--ranks), --tag-output and --grace.
  void define(CLI::App& app);
  ProcessGroupOptions process_options() const;
};

}  // namespace braid::cli
