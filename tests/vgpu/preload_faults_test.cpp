// What must not disturb the job: a full disk, a killed rank, mode off, a policy nobody uses.
#include <dirent.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "model/trace.hpp"
#include "tests/vgpu/preload_support.hpp"

namespace braid::test {
namespace {

TEST(Faults, AFullDiskCutsTheTraceAndTheJobGoesOn) {
  TemporaryFolder folder;
  Variables variables = virtual_box();
  variables["LD_PRELOAD"] = std::string(BRAID_BINARY_DIR) + "/lib/libbraid.so";
  variables["BRAID_MODE"] = "observe";
  variables["BRAID_TRACE_DIR"] = folder.path() + "/disk/trace";
  const auto command = pair_program({"normal", "--ranks", "2", "--steps", "3000"});
  const Outcome stock = run(command, virtual_box());
  // A disk of three megabytes, in a mount namespace of its own; the trace is copied out at the end.
  const std::string script =
      "mkdir \"$0/disk\" && mount -t tmpfs -o size=3m none \"$0/disk\" && "
      "\"$@\" && cp \"$0\"/disk/trace/* \"$0\"";
  std::vector<std::string> limited{"unshare", "-rm", "sh", "-c", script, folder.path()};
  limited.insert(limited.end(), command.begin(), command.end());
  if (run({"unshare", "-rm", "true"}).status != 0) {
    GTEST_SKIP() << "no mount namespaces here";
  }
  const Outcome outcome = run(limited, variables);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, stock.out);
  EXPECT_NE(outcome.err.find("the trace is cut here"), std::string::npos) << outcome.err;
  const auto trace = model::trace::read_trace(folder.path());
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->ranks.size(), 2u);
  EXPECT_GT(trace->ranks[0].dropped + trace->ranks[1].dropped, 0u);
  EXPECT_GT(trace->ranks[0].records.size(), 1000u);
}

TEST(Faults, AKilledRankDoesNotHangTheOthersLongerThanStock) {
  TemporaryFolder folder;
  const Variables braid = under_braid(folder.write("policy.toml", split_policy(4)));
  const auto command = pair_program({"killed", "--process", "--steps", "24"});
  const auto stock = run_ranks(command, 2, {virtual_box()}, 60);
  const auto outcomes = run_ranks(command, 2, {braid}, 60);
  EXPECT_EQ(outcomes[1].status, 128 + 9);
  EXPECT_NE(outcomes[0].status, 124) << "rank 0 hangs: " << outcomes[0].err;
  EXPECT_EQ(outcomes[0].status, stock[0].status);
}

TEST(Faults, ModeOffIsStock) {
  TemporaryFolder folder;
  Variables variables = under_braid(folder.write("policy.toml", split_policy(4)));
  variables["BRAID_MODE"] = "off";
  variables["BRAID_TRACE_DIR"] = folder.path() + "/trace";
  const auto command = pair_program({"normal", "--ranks", "4"});
  const Outcome stock = run(command, virtual_box());
  const Outcome off = run(command, variables);
  EXPECT_EQ(off.status, 0);
  EXPECT_EQ(off.out, stock.out);
  EXPECT_EQ(off.err, stock.err);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/trace"));
}

TEST(Metrics, AreAPrometheusFile) {
  TemporaryFolder folder;
  Variables variables = under_braid(folder.write("policy.toml", split_policy(4)));
  variables["BRAID_METRICS"] = folder.path() + "/braid.prom";
  variables["RANK"] = "0";
  const Outcome outcome = run(pair_program({"normal", "--ranks", "2"}), variables);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = read_file(folder.path() + "/braid.rank0.prom");
  EXPECT_NE(
      text.find("# TYPE braid_collectives_split_total counter\nbraid_collectives_split_total " +
                std::to_string(counts_in(outcome.err).split) + "\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("braid_refusals_total{reason=\"no_pair\"}"), std::string::npos) << text;
}

TEST(Faults, ProgramsWithoutNcclAreLeftAlone) {
  TemporaryFolder folder;
  const Variables variables = under_braid(folder.write("policy.toml", split_policy(4)));
  const Outcome outcome = run({"bash", "-c", "echo hello | tr a-z A-Z"}, variables);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "HELLO\n");
}

}  // namespace
}  // namespace braid::test
