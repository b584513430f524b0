// Ranks that differ: every communicator still ends up the same on all of them.
#include <gtest/gtest.h>

#include "tests/vgpu/preload_support.hpp"

namespace braid::test {
namespace {

const std::vector<std::string> kCommand = pair_program({"normal", "--process", "--steps", "24"});

void expect_stock_results(const std::vector<Outcome>& outcomes) {
  const auto stock = run_ranks(kCommand, static_cast<int>(outcomes.size()), {virtual_box()});
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    ASSERT_EQ(outcomes[rank].status, 0) << outcomes[rank].err;
    EXPECT_EQ(outcomes[rank].out, stock[rank].out);
  }
}

TEST(Agreement, ARankWithoutBraidMeansStockForAll) {
  TemporaryFolder folder;
  const Variables braid = under_braid(folder.write("policy.toml", split_policy(4)));
  for (const auto& variables : {std::vector<Variables>{braid, braid, virtual_box(), braid},
                                std::vector<Variables>{virtual_box(), braid, braid, braid}}) {
    const auto outcomes = run_ranks(kCommand, 4, variables);
    expect_stock_results(outcomes);
    // Rank 0 prints the summary, where it has braid.
    EXPECT_LE(counts_in(outcomes[0].err).split, 0);
  }
}

TEST(Agreement, DifferentPoliciesMeanStock) {
  TemporaryFolder folder;
  const Variables four = under_braid(folder.write("four.toml", split_policy(4)));
  const Variables two = under_braid(folder.write("two.toml", split_policy(2)));
  const auto outcomes = run_ranks(kCommand, 2, {four, two});
  expect_stock_results(outcomes);
  EXPECT_EQ(counts_in(outcomes[0].err).split, 0);
  EXPECT_GT(refusals_in(outcomes[0].err, "not_agreed"), 0) << outcomes[0].err;
}

TEST(Agreement, ABrokenPolicyOnOneRankFailsAllWithItsReason) {
  TemporaryFolder folder;
  const Variables good = under_braid(folder.write("good.toml", split_policy(4)));
  const Variables bad =
      under_braid(folder.write("bad.toml", "schema = \"braid-policy/1\"\n[[rule]]\nparst = 4\n"));
  const auto outcomes = run_ranks(kCommand, 2, {good, bad});
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, 3) << outcome.err;
    EXPECT_NE(outcome.out.find("bad.toml:3"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("parst"), std::string::npos) << outcome.out;
  }
}

TEST(Agreement, ABrokenPolicyRunsAsStockWhenAskedTo) {
  TemporaryFolder folder;
  Variables bad = under_braid(folder.write("bad.toml", "schema = 7\n"));
  bad["BRAID_ON_ERROR"] = "stock";
  expect_stock_results(run_ranks(kCommand, 2, {bad}));
}

TEST(Agreement, ASideChannelThatIsNotThereMeansStock) {
  TemporaryFolder folder;
  Variables variables = under_braid(folder.write("policy.toml", split_policy(4)));
  variables["NCCL_COMM_ID"] = "127.0.0.1:23456";
  const auto outcomes = run_ranks(kCommand, 2, {variables});
  expect_stock_results(outcomes);
  EXPECT_GT(refusals_in(outcomes[0].err, "side_channel"), 0) << outcomes[0].err;
}

TEST(Agreement, ExitWithoutDestroyDoesNotHang) {
  TemporaryFolder folder;
  const Variables braid = under_braid(folder.write("policy.toml", split_policy(4)));
  const auto outcomes =
      run_ranks(pair_program({"normal", "--process", "--steps", "24", "--exit-early"}), 2, {braid});
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
}

}  // namespace
}  // namespace braid::test
