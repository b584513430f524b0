// Programs with a GEMM and its AllReduce give the same results with braid as without, and are
// rewritten only where that is right. All numbers are exact, so one hash decides.
#include <gtest/gtest.h>

#include "tests/vgpu/preload_support.hpp"

namespace braid::test {
namespace {

struct Case {
  std::string scenario;
  std::string stream;
  std::string type;
  int ranks;
  bool group;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.scenario << '/' << c.stream << '/' << c.type << '/' << c.ranks
             << (c.group ? "/group" : "");
}

class PairTest : public ::testing::TestWithParam<Case> {
 protected:
  static std::vector<std::string> command(const Case& c) {
    std::vector<std::string> arguments{c.scenario, "--ranks", std::to_string(c.ranks),
                                       "--stream", c.stream,  "--type",
                                       c.type,     "--steps", "16"};
    if (c.group) {
      arguments.push_back("--group");
    }
    return pair_program(arguments);
  }
};

TEST_P(PairTest, SameResultsUnderEverySchedule) {
  const Outcome stock = run(command(GetParam()), virtual_box());
  ASSERT_EQ(stock.status, 0) << stock.err;
  TemporaryFolder folder;
  const std::string policy = folder.write("policy.toml", split_policy(4));
  for (const char* seed : {"0", "3", "17"}) {
    Variables variables = under_braid(policy);
    variables["BRAID_VGPU_SEED"] = seed;
    const Outcome braid = run(command(GetParam()), variables);
    ASSERT_EQ(braid.status, 0) << "seed " << seed << "\n" << braid.err;
    EXPECT_EQ(braid.out, stock.out) << "seed " << seed << "\n" << braid.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Straight, PairTest,
                         ::testing::Values(Case{"normal", "own", "fp32", 2, false},
                                           Case{"normal", "compute", "fp32", 2, false},
                                           Case{"normal", "own", "bf16", 4, false},
                                           Case{"normal", "compute", "bf16", 4, true},
                                           Case{"in_place", "own", "fp32", 4, false},
                                           Case{"in_place", "compute", "fp32", 2, true},
                                           Case{"normal", "own", "fp32", 8, true}));

INSTANTIATE_TEST_SUITE_P(
    PredictionBroken, PairTest,
    ::testing::Values(
        Case{"skipped", "own", "fp32", 4, false}, Case{"doubled", "own", "fp32", 4, false},
        Case{"doubled", "compute", "fp32", 2, false},
        Case{"memset_between", "own", "fp32", 4, false},
        Case{"memset_between", "compute", "fp32", 2, false},
        Case{"gemm_between", "own", "fp32", 2, false},
        Case{"output_reused", "own", "fp32", 4, false},
        Case{"work_after_wait", "own", "fp32", 4, false},
        Case{"receive_overlaps_operand", "own", "fp32", 4, false},
        Case{"receive_overlaps_operand", "compute", "fp32", 2, false},
        Case{"gemm_alone", "own", "fp32", 4, false}, Case{"two_comms", "own", "fp32", 4, false},
        Case{"shapes", "own", "fp32", 4, false}, Case{"slow_rank", "own", "fp32", 4, false},
        Case{"prior_work", "own", "fp32", 4, false}));

Outcome run_split(const std::vector<std::string>& arguments, int parts = 4,
                  const std::string& numerics = "reordered") {
  TemporaryFolder folder;
  return run(pair_program(arguments),
             under_braid(folder.write("policy.toml", split_policy(parts, numerics))));
}

INSTANTIATE_TEST_SUITE_P(UnusualCalls, PairTest,
                         ::testing::Values(Case{"simulate", "own", "fp32", 2, false},
                                           Case{"bad_call", "own", "fp32", 2, false},
                                           Case{"init_retry", "own", "fp32", 2, false},
                                           Case{"other_device", "own", "fp32", 2, false},
                                           Case{"group_on_one_rank", "own", "fp32", 2, false},
                                           Case{"group_two_streams", "own", "fp32", 2, false},
                                           Case{"thread_between", "own", "fp32", 2, false}));

TEST(PairCounts, CollectivesAreSplitAndStartEarlyOnBothStreamShapes) {
  for (const char* stream : {"own", "compute"}) {
    const Outcome outcome =
        run_split({"normal", "--ranks", "2", "--steps", "40", "--stream", stream});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const Counts counts = counts_in(outcome.err);
    EXPECT_GT(counts.split, 20) << stream << "\n" << outcome.err;
    EXPECT_GT(counts.early, 10) << stream << "\n" << outcome.err;
  }
}

struct RefusalCase {
  std::string scenario;
  std::string reason;
};

std::ostream& operator<<(std::ostream& out, const RefusalCase& c) {
  return out << c.scenario << "/" << c.reason;
}

class RefusalTest : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(RefusalTest, IsCountedAndShown) {
  const Outcome outcome = run_split({GetParam().scenario, "--ranks", "2", "--steps", "40"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(refusals_in(outcome.err, GetParam().reason), 0) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, RefusalTest,
    ::testing::Values(RefusalCase{"memset_between", "intervening_work"},
                      RefusalCase{"work_after_wait", "intervening_work"},
                      RefusalCase{"receive_overlaps_operand", "memory_overlap"},
                      RefusalCase{"nonblocking", "nonblocking"}, RefusalCase{"normal", "no_pair"}));

TEST(Numerics, ExactSplitsTwoRanksWithoutCuttingTheGemm) {
  const Outcome outcome = run_split({"normal", "--ranks", "2", "--steps", "40"}, 4, "exact");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Counts counts = counts_in(outcome.err);
  EXPECT_GT(counts.split, 20) << outcome.err;
  EXPECT_EQ(counts.early, 0) << outcome.err;
}

TEST(Numerics, ExactRefusesFourRanks) {
  const Outcome outcome = run_split({"normal", "--ranks", "4", "--steps", "24"}, 4, "exact");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(counts_in(outcome.err).split, 0) << outcome.err;
  EXPECT_GT(refusals_in(outcome.err, "numerics"), 0) << outcome.err;
}

TEST(Processes, AgreeOverTheSideChannel) {
  TemporaryFolder folder;
  const std::string policy = folder.write("policy.toml", split_policy(4));
  const auto command = pair_program({"normal", "--process", "--steps", "32"});
  for (const int ranks : {2, 4}) {
    const auto stock = run_ranks(command, ranks, {virtual_box()});
    const auto braid = run_ranks(command, ranks, {under_braid(policy)});
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(braid[rank].status, 0) << braid[rank].err;
      EXPECT_EQ(braid[rank].out, stock[rank].out);
    }
    EXPECT_GT(counts_in(braid[0].err).split, 10) << braid[0].err;
  }
}

TEST(OneHardwareQueue, IsRefused) {
  TemporaryFolder folder;
  Variables variables = under_braid(folder.write("policy.toml", split_policy(4)));
  variables["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  const Outcome outcome = run(pair_program({"normal", "--ranks", "2"}), variables);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(counts_in(outcome.err).split, 0);
  EXPECT_GT(refusals_in(outcome.err, "one_hardware_queue"), 0) << outcome.err;
}

}  // namespace
}  // namespace braid::test
