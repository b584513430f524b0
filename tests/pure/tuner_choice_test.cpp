#include <gtest/gtest.h>

#include <limits>

#include "policy_random.hpp"
#include "tuner_plugin/choice_table.hpp"

namespace braid::tuner {
namespace {

constexpr std::pair<abi::Function, config::Collective> kAsked[] = {
    {abi::kBroadcast, config::Collective::kBroadcast},
    {abi::kReduce, config::Collective::kReduce},
    {abi::kAllGather, config::Collective::kAllGather},
    {abi::kReduceScatter, config::Collective::kReduceScatter},
    {abi::kAllReduce, config::Collective::kAllReduce}};

TEST(TunerChoice, KernelsThatExist) {
  for (int protocol = 0; protocol < abi::kProtocolCount; ++protocol) {
    for (const auto& [function, collective] : kAsked) {
      EXPECT_TRUE(has_kernel(function, abi::kAlgorithmRing, protocol));
      EXPECT_EQ(has_kernel(function, abi::kAlgorithmTree, protocol), function == abi::kAllReduce);
      EXPECT_FALSE(has_kernel(function, abi::kAlgorithmNvls, protocol));
    }
  }
  EXPECT_FALSE(has_kernel(abi::kAllReduce, abi::kAlgorithmRing, -1));
  EXPECT_FALSE(has_kernel(abi::kAllReduce, abi::kAlgorithmRing, abi::kProtocolCount));
  EXPECT_FALSE(has_kernel(abi::kAllReduce, -1, 0));
  EXPECT_FALSE(has_kernel(abi::kSendRecv, abi::kAlgorithmRing, 0));
  EXPECT_FALSE(has_kernel(static_cast<abi::Function>(-1), abi::kAlgorithmRing, 0));
}

TEST(TunerChoice, EmptyTablesHaveNoChoice) {
  const ChoiceTable none;
  const ChoiceTable no_rules({}, 8, 1);
  config::TunerRule leave;  // matches everything, asks nothing
  const ChoiceTable stock({leave}, 8, 1);
  for (const ChoiceTable* table : {&none, &no_rules, &stock}) {
    EXPECT_TRUE(table->is_empty());
    EXPECT_EQ(table->find(abi::kAllReduce, 1024), nullptr);
  }
}

TEST(TunerChoice, FunctionsNobodyAsksAboutHaveNone) {
  config::TunerRule ring;
  ring.algorithm = config::Algorithm::kRing;
  const ChoiceTable table({ring}, 8, 1);
  EXPECT_FALSE(table.is_empty());
  EXPECT_NE(table.find(abi::kReduce, 0), nullptr);
  for (const int function : {-1, 5, 6, 7, 8, 9, 10, 1000}) {
    EXPECT_EQ(table.find(static_cast<abi::Function>(function), 1024), nullptr);
  }
}

// The precomputed ranges against the rule list itself, at every edge.
TEST(TunerChoiceProperty, RangesAgreeWithTheFirstMatchingRule) {
  std::mt19937_64 random(test::property_seed());
  for (int i = 0; i < 300; ++i) {
    const config::Policy policy = test::random_policy(random);
    const uint64_t ranks = test::pick(random, 1, 70);
    const uint64_t nodes = test::pick(random, 1, 5);
    const ChoiceTable table(policy.tuner_rules, ranks, nodes);
    std::vector<uint64_t> sizes = {0, 1, std::numeric_limits<uint64_t>::max()};
    for (const config::TunerRule& rule : policy.tuner_rules) {
      for (const uint64_t edge : {rule.bytes.low, rule.bytes.high}) {
        sizes.insert(sizes.end(), {edge - 1, edge, edge + 1});
      }
    }
    for (const auto& [function, collective] : kAsked) {
      for (const uint64_t bytes : sizes) {
        const config::TunerRule* rule =
            config::find_tuner_rule(policy, collective, bytes, ranks, nodes);
        const Choice* choice = table.find(function, bytes);
        const bool asks =
            rule != nullptr && (rule->algorithm != config::Algorithm::kAuto ||
                                rule->protocol != config::Protocol::kAuto || rule->channels != 0);
        ASSERT_EQ(choice != nullptr, asks) << bytes;
        if (asks) {
          EXPECT_EQ(choice->algorithm, static_cast<int>(rule->algorithm));
          EXPECT_EQ(choice->protocol, static_cast<int>(rule->protocol));
          EXPECT_EQ(choice->channels, rule->channels);
        }
      }
    }
  }
}

}  // namespace
}  // namespace braid::tuner
