#include <gtest/gtest.h>

#include "config/policy.hpp"
#include "config/policy_names.hpp"

namespace braid::config {
namespace {

Policy must_read(const std::string& rules) {
  auto policy = read_policy_text("schema = \"braid-policy/1\"\n" + rules, "p.toml");
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().text());
  return policy ? *std::move(policy) : Policy{};
}

TEST(PolicyMatch, NoRuleMeansStock) {
  EXPECT_EQ(find_rule(Policy{}, Collective::kAllReduce, "bf16", 1, 2, ""), nullptr);
  EXPECT_EQ(find_tuner_rule(Policy{}, Collective::kAllReduce, 1, 2, 1), nullptr);
}

TEST(PolicyMatch, TheFirstMatchWins) {
  const Policy policy = must_read(
      "[[rule]]\ncollective = \"allreduce\"\nbytes = \"[0, 1MiB)\"\nstrategy = \"serial\"\n"
      "[[rule]]\ncollective = \"allreduce\"\nstrategy = \"decompose\"\nparts = 2\n"
      "[[rule]]\ncollective = \"allreduce\"\nstrategy = \"decompose\"\nparts = 3\n");
  const auto parts = [&](uint64_t bytes) {
    return find_rule(policy, Collective::kAllReduce, "fp32", bytes, 4, "")->parts;
  };
  EXPECT_EQ(parts(1000), 0);
  EXPECT_EQ(parts(1 << 20), 2);
}

TEST(PolicyMatch, EveryKeyMustHold) {
  const Policy policy = must_read(
      "[[rule]]\ncollective = \"allgather\"\ndtype = [\"bf16\", \"fp16\"]\n"
      "bytes = \"[4, 8]\"\nranks = 4\ncommunicator = \"tp\"\n");
  const auto matches = [&](Collective collective, const char* dtype, uint64_t bytes, uint64_t ranks,
                           const char* communicator) {
    return find_rule(policy, collective, dtype, bytes, ranks, communicator) != nullptr;
  };
  EXPECT_TRUE(matches(Collective::kAllGather, "bf16", 4, 4, "tp"));
  EXPECT_TRUE(matches(Collective::kAllGather, "fp16", 8, 4, "tp"));
  EXPECT_FALSE(matches(Collective::kAllReduce, "bf16", 4, 4, "tp"));
  EXPECT_FALSE(matches(Collective::kAllGather, "fp32", 4, 4, "tp"));
  EXPECT_FALSE(matches(Collective::kAllGather, "bf16", 9, 4, "tp"));
  EXPECT_FALSE(matches(Collective::kAllGather, "bf16", 4, 8, "tp"));
  EXPECT_FALSE(matches(Collective::kAllGather, "bf16", 4, 4, "dp"));
  EXPECT_FALSE(matches(Collective::kAllGather, "bf16", 4, 4, ""));
}

TEST(PolicyMatch, TunerRulesMatchOnNodesToo) {
  const Policy policy = must_read(
      "[[tuner.rule]]\nnodes = \"[2, inf)\"\nalgorithm = \"ring\"\n"
      "[[tuner.rule]]\ncollective = \"allreduce\"\nranks = 8\nalgorithm = \"tree\"\n");
  const auto find = [&](Collective c, uint64_t ranks, uint64_t nodes) {
    return find_tuner_rule(policy, c, 1024, ranks, nodes);
  };
  EXPECT_EQ(find(Collective::kAllReduce, 8, 2)->algorithm, Algorithm::kRing);
  EXPECT_EQ(find(Collective::kAllReduce, 8, 1)->algorithm, Algorithm::kTree);
  EXPECT_EQ(find(Collective::kAllReduce, 4, 1), nullptr);
  EXPECT_EQ(find(Collective::kAllGather, 8, 1), nullptr);
}

TEST(PolicyNames, CollectivesHaveAllTheirNames) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(collective_from(name_of(collective)), collective);
  }
  EXPECT_EQ(collective_from("AllReduce"), std::nullopt);
  EXPECT_EQ(names_in(kCollectiveNames).size(), static_cast<size_t>(kCollectiveCount));
  EXPECT_STREQ(name_in(kCutNames, static_cast<Cut>(99)), "?");
}

}  // namespace
}  // namespace braid::config
