// Plan table, numerics classes, refusal list.
#include <gtest/gtest.h>
#include <nccl.h>

#include <random>
#include <set>

#include "interposer/planner.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {
namespace {

config::Policy policy_of(const std::string& text) {
  Result<config::Policy> policy =
      config::read_policy_text("schema = \"braid-policy/1\"\n" + text, "test");
  EXPECT_TRUE(policy) << policy.error().text();
  return policy ? *policy : config::Policy{};
}

const char* const kSplitFour =
    "[[rule]]\ncollective = \"allreduce\"\nstrategy = \"decompose\"\nparts = 4\n";

Signature all_reduce(uint64_t count, ncclDataType_t type = ncclFloat32, uint32_t op = ncclSum) {
  Signature signature;
  signature.type = type;
  signature.op = op;
  signature.count = count;
  return signature;
}

TEST(Boundaries, AreWholeRowsAndCoverEverything) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    const uint64_t rows = 1 + random() % 300;
    const uint64_t row = 1 + random() % 200;
    const auto parts = static_cast<uint32_t>(1 + random() % 64);
    const auto boundaries = equal_boundaries(rows, row, parts);
    ASSERT_EQ(boundaries.front(), 0u);
    ASSERT_EQ(boundaries.back(), rows * row);
    for (size_t i = 1; i < boundaries.size(); ++i) {
      ASSERT_LT(boundaries[i - 1], boundaries[i]);
      ASSERT_EQ(boundaries[i] % row, 0u);
    }
  }
}

TEST(Ranges, GrowToTheirLimit) {
  uint64_t from = 0;
  uint64_t longest = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t to = end_of_range(from);
    ASSERT_GT(to, from);
    longest = std::max(longest, to - from);
    from = to;
  }
  EXPECT_EQ(longest, 256u);
}

TEST(Planner, DecidesByRuleNumericsAndPair) {
  CommunicatorState state;
  state.n_ranks = 4;
  const GemmShape shape{128, 64, 64, 0, 0};
  const config::Policy policy = policy_of(kSplitFour);
  const auto planned = plan_collective(policy, state, all_reduce(128 * 64), &shape);
  ASSERT_TRUE(std::holds_alternative<PlanEntry>(planned));
  EXPECT_EQ(std::get<PlanEntry>(planned).parts(), 4u);
  EXPECT_EQ(std::get<Refusal>(plan_collective(policy, state, all_reduce(128 * 64), nullptr)),
            Refusal::kNoPair);
  EXPECT_EQ(std::get<Refusal>(
                plan_collective(policy, state, all_reduce(64, ncclFloat32, kUserOp), &shape)),
            Refusal::kUserReduction);
  EXPECT_EQ(std::get<Refusal>(plan_collective(policy_of(""), state, all_reduce(8192), &shape)),
            Refusal::kNoRule);
  const config::Policy exact = policy_of(std::string("numerics = \"exact\"\n") + kSplitFour);
  EXPECT_EQ(std::get<Refusal>(plan_collective(exact, state, all_reduce(128 * 64), &shape)),
            Refusal::kNumerics);
  const config::Policy fused =
      policy_of("[[rule]]\ncollective = \"allreduce\"\nstrategy = \"fused\"\n");
  EXPECT_EQ(std::get<Refusal>(plan_collective(fused, state, all_reduce(128 * 64), &shape)),
            Refusal::kNotCarriedOut);
  state.n_ranks = 2;
  EXPECT_TRUE(std::holds_alternative<PlanEntry>(
      plan_collective(exact, state, all_reduce(128 * 64), &shape)));
}

TEST(Planner, FrozenPlanSurvivesTheRoundTrip) {
  CommunicatorState state;
  state.n_ranks = 4;
  const GemmShape shape{128, 64, 64, 0, 0};
  const auto planned =
      plan_collective(policy_of(kSplitFour), state, all_reduce(128 * 64, ncclBfloat16), &shape);
  config::Policy frozen = policy_of("");
  frozen.plan.push_back(describe_for_policy(std::get<PlanEntry>(planned), state.n_ranks));
  const auto entries = frozen_plan(frozen, state);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].signature, std::get<PlanEntry>(planned).signature);
  EXPECT_EQ(entries[0].boundaries, std::get<PlanEntry>(planned).boundaries);
  state.n_ranks = 8;
  EXPECT_TRUE(frozen_plan(frozen, state).empty());
}

TEST(Refusals, HaveDistinctNames) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(Refusal::kCount); ++i) {
    names.insert(name_of(static_cast<Refusal>(i)));
    EXPECT_GT(std::string(explain(static_cast<Refusal>(i))).size(), 10u);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Refusal::kCount));
}

}  // namespace
}  // namespace braid::interposer
