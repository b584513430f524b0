// Whatever the policy and the table: the pick is one NCCL may run, nothing outside the table
// changes, and equal arguments get equal answers.
#include <gtest/gtest.h>

#include "policy_random.hpp"
#include "tuner_test_support.hpp"

namespace braid::tuner {
namespace {

TEST(TunerProperty, PicksAreLegalAndRanksAgree) {
  std::mt19937_64 random(test::property_seed());
  int changed = 0;
  for (int i = 0; i < 400; ++i) {
    Settings settings;
    settings.policy = test::random_policy(random);
    const uint64_t ranks = test::pick(random, 1, 70);
    const uint64_t nodes = test::pick(random, 1, 5);
    Tuner one(settings, ranks, nodes, test::keep_log);
    Tuner other(settings, ranks, nodes, test::keep_log);
    for (int call = 0; call < 30; ++call) {
      const auto function = static_cast<abi::Function>(test::pick(random, 0, 10));
      const uint64_t bytes = random() >> test::pick(random, 0, 63);
      struct {
        float before[4] = {-3, -3, -3, -3};
        test::Table table;
        float after[4] = {-3, -3, -3, -3};
      } guarded;
      const test::Table original = test::random_table(random, function);
      guarded.table = original;
      test::Table again = original;
      int channels = 0;
      int channels_again = 0;
      one.choose(function, bytes, guarded.table.begin(), 7, 3, &channels);
      other.choose(function, bytes, again.begin(), 7, 3, &channels_again);
      EXPECT_EQ(guarded.table, again);
      EXPECT_EQ(channels, channels_again);
      for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(guarded.before[k], -3);
        EXPECT_EQ(guarded.after[k], -3);
      }
      const test::Pick pick = test::pick_cheapest(guarded.table);
      const test::Pick stock = test::pick_cheapest(original);
      EXPECT_EQ(pick.algorithm >= 0, stock.algorithm >= 0);
      if (pick.algorithm >= 0) {
        EXPECT_GE(original.cost[pick.algorithm][pick.protocol], 0) << "picked an ignored entry";
      }
      for (int a = 0; a < 7; ++a) {
        for (int p = 0; p < 3; ++p) {
          EXPECT_EQ(original.cost[a][p] < 0, guarded.table.cost[a][p] < 0);
        }
      }
      EXPECT_GE(channels, 0);
      EXPECT_LE(channels, 64);
      if (channels > 0) {
        EXPECT_LE(pick.algorithm, abi::kAlgorithmRing);
      }
      changed += !(pick == stock);
    }
  }
  EXPECT_GT(changed, 100);
}

}  // namespace
}  // namespace braid::tuner
