#include "tests/vgpu/preload_support.hpp"

#include <memory>
#include <regex>

namespace braid::test {

std::vector<std::string> pair_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{std::string(BRAID_BINARY_DIR) + "/tests/programs/pair_program"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Variables under_braid(const std::string& policy_path, const std::string& library) {
  Variables variables = virtual_box();
  variables["LD_PRELOAD"] =
      library.empty() ? std::string(BRAID_BINARY_DIR) + "/lib/libbraid.so" : library;
  variables["BRAID_MODE"] = "auto";
  variables["BRAID_POLICY"] = policy_path;
  variables["BRAID_SUMMARY"] = "1";
  return variables;
}

std::string split_policy(int parts, const std::string& numerics) {
  return "schema = \"braid-policy/1\"\nnumerics = \"" + numerics +
         "\"\n\n[[rule]]\ncollective = \"allreduce\"\nstrategy = \"decompose\"\nparts = " +
         std::to_string(parts) + "\n";
}

Counts counts_in(const std::string& err) {
  std::smatch match;
  const std::regex pattern(R"((\d+) collectives made in parts, (\d+) of them started early)");
  if (!std::regex_search(err, match, pattern)) {
    return {-1, -1};
  }
  return {std::stoi(match[1]), std::stoi(match[2])};
}

int refusals_in(const std::string& err, const std::string& reason) {
  std::smatch match;
  const std::regex pattern("braid:   " + reason + " (\\d+):");
  return std::regex_search(err, match, pattern) ? std::stoi(match[1]) : 0;
}

std::vector<Outcome> run_ranks(const std::vector<std::string>& command, int ranks,
                               const std::vector<Variables>& variables, int seconds) {
  TemporaryFolder folder;
  std::vector<std::unique_ptr<Process>> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    Variables own = variables[static_cast<size_t>(rank) % variables.size()];
    own["RANK"] = std::to_string(rank);
    own["WORLD_SIZE"] = std::to_string(ranks);
    own["LOCAL_RANK"] = std::to_string(rank);
    own["ID_FILE"] = folder.path() + "/id";
    own["BRAID_VGPU_SESSION"] = folder.path() + "/session";
    processes.push_back(std::make_unique<Process>(command, own));
  }
  std::vector<Outcome> outcomes;
  for (const auto& process : processes) {
    outcomes.push_back(process->wait(seconds));
  }
  return outcomes;
}

}  // namespace braid::test
