// What must not disturb the job: a full disk, a killed rank, mode off, a policy nobody uses.
#include <dirent.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "tests/vgpu/preload_support.hpp"

namespace braid::test {
namespace {

TEST(Faults, AFullDiskCutsTheTraceAndTheJobGoesOn) {
  TemporaryFolder folder;
  Variables variables = virtual_box();
  variables["LD_PRELOAD"] = std::string(BRAID_BINARY_DIR) + "/lib/libbraid.so";
  variables["BRAID_MODE"] = "observe";
  variables["BRAID_TRACE_DIR"] = folder.path() + "/trace";
  const auto command = pair_program({"normal", "--ranks", "2", "--steps", "8"});
  const Outcome stock = run(command, virtual_box());
  // A file-size limit below the recorder's first allocation stands for the full disk; bash's ulimit
  // counts in KiB. SIGXFSZ is ignored, as a full disk sends none.
  std::vector<std::string> limited{"bash", "-c", "trap '' XFSZ; ulimit -f 256; exec \"$@\"",
                                   "bash"};
  limited.insert(limited.end(), command.begin(), command.end());
  variables["BRAID_VGPU_SESSION"] = "";
  const Outcome outcome = run(limited, variables);
  if (outcome.err.find("the trace is cut here") == std::string::npos) {
    GTEST_SKIP() << "the virtual GPUs cannot run under a file-size limit here: " << outcome.err;
  }
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, stock.out);
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

TEST(Faults, ProgramsWithoutNcclAreLeftAlone) {
  TemporaryFolder folder;
  const Variables variables = under_braid(folder.write("policy.toml", split_policy(4)));
  const Outcome outcome = run({"bash", "-c", "echo hello | tr a-z A-Z"}, variables);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "HELLO\n");
}

}  // namespace
}  // namespace braid::test
