// Where a mixture-of-experts layer sends its tokens. The router is a hash of the token's number, so
// every rank knows all ranks' counts without asking.
#pragma once

#include <cstdint>
#include <vector>

namespace examples {

struct RoutingShape {
  int ranks;
  int experts;  // over all ranks; rank r owns a run of experts/ranks of them
  int tokens_per_rank;
};

/// One rank's view of one layer in one step.
struct RoutingPlan {
  std::vector<int> dispatch;      // row r of what is sent is token dispatch[r]
  std::vector<int> send_rows;     // by destination rank
  std::vector<int> receive_rows;  // by source rank
  std::vector<int> by_expert;     // row r of the experts' input is received row by_expert[r]
  std::vector<int> expert_rows;   // rows of each of this rank's experts
  int received() const { return static_cast<int>(by_expert.size()); }
};

RoutingPlan plan_routing(const RoutingShape& shape, int rank, uint64_t seed);

}  // namespace examples
