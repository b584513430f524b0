#include "common/token_routing.hpp"

#include "common/kernel_ops.hpp"

namespace examples {
namespace {

int expert_of(uint64_t seed, int token, int experts) {
  return static_cast<int>(ops::mix(ops::mix(seed) ^ static_cast<uint64_t>(token)) %
                          static_cast<uint64_t>(experts));
}

}  // namespace

RoutingPlan plan_routing(const RoutingShape& shape, int rank, uint64_t seed) {
  const int local_experts = shape.experts / shape.ranks;
  const int first_token = rank * shape.tokens_per_rank;
  const int first_expert = rank * local_experts;
  RoutingPlan plan;
  plan.send_rows.assign(static_cast<size_t>(shape.ranks), 0);
  plan.receive_rows.assign(static_cast<size_t>(shape.ranks), 0);
  plan.expert_rows.assign(static_cast<size_t>(local_experts), 0);

  // What this rank sends: its tokens, expert by expert.
  std::vector<std::vector<int>> outgoing(static_cast<size_t>(shape.experts));
  for (int t = 0; t < shape.tokens_per_rank; ++t) {
    outgoing[static_cast<size_t>(expert_of(seed, first_token + t, shape.experts))].push_back(t);
  }
  for (int expert = 0; expert < shape.experts; ++expert) {
    const std::vector<int>& tokens = outgoing[static_cast<size_t>(expert)];
    plan.dispatch.insert(plan.dispatch.end(), tokens.begin(), tokens.end());
    plan.send_rows[static_cast<size_t>(expert / local_experts)] += static_cast<int>(tokens.size());
  }

  // What it receives: from each rank in turn, expert by expert.
  std::vector<std::vector<int>> incoming(static_cast<size_t>(local_experts));
  int row = 0;
  for (int source = 0; source < shape.ranks; ++source) {
    std::vector<int> counts(static_cast<size_t>(local_experts), 0);
    for (int t = 0; t < shape.tokens_per_rank; ++t) {
      const int expert = expert_of(seed, source * shape.tokens_per_rank + t, shape.experts);
      if (expert / local_experts == rank) {
        ++counts[static_cast<size_t>(expert - first_expert)];
        ++plan.receive_rows[static_cast<size_t>(source)];
      }
    }
    for (size_t expert = 0; expert < counts.size(); ++expert) {
      for (int i = 0; i < counts[expert]; ++i) {
        incoming[expert].push_back(row++);
      }
    }
  }
  for (size_t expert = 0; expert < incoming.size(); ++expert) {
    plan.expert_rows[expert] = static_cast<int>(incoming[expert].size());
    plan.by_expert.insert(plan.by_expert.end(), incoming[expert].begin(), incoming[expert].end());
  }
  return plan;
}

}  // namespace examples
