#include "interposer/summary.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "config/environment.hpp"
#include "interposer/execute/record_calls.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {

void print_summary() {
  if (!config::environment().summary) {
    return;
  }
  // One process of a job speaks for all; where no launcher says which, every process does.
  const char* rank = std::getenv("RANK");
  if (rank != nullptr && std::string(rank) != "0") {
    return;
  }
  const RewriteCounts counts = rewrite_counts();
  std::string text = "braid: " + std::to_string(counts.split) + " collectives made in parts, " +
                     std::to_string(counts.overlapped) + " of them started early";
  for (const auto& [reason, count] : refusals().snapshot()) {
    text += "\nbraid:   " + std::string(name_of(reason)) + " " + std::to_string(count) + ": " +
            explain(reason);
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace braid::interposer
