// What the preload tests share: running the pair program as it is and under braid.
#pragma once

#include <string>
#include <vector>

#include "tests/support/process.hpp"

namespace braid::test {

/// The pair program's command line.
std::vector<std::string> pair_program(const std::vector<std::string>& arguments);

/// Environment of a run under braid with a policy; `library` is the preload.
Variables under_braid(const std::string& policy_path, const std::string& library = "");

/// A policy that splits every AllReduce after a GEMM.
std::string split_policy(int parts, const std::string& numerics = "reordered");

/// "N collectives made in parts, M of them started early" of the summary.
struct Counts {
  int split = 0;
  int early = 0;
};
Counts counts_in(const std::string& err);

/// The N of "reason N:" in the summary; 0 when it is not there.
int refusals_in(const std::string& err, const std::string& reason);

/// Runs a command once for each rank as processes of one virtual box; outcomes by rank.
std::vector<Outcome> run_ranks(const std::vector<std::string>& command, int ranks,
                               const std::vector<Variables>& variables, int seconds = 120);

}  // namespace braid::test
