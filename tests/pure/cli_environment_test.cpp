// The environment a job is started with.
#include <gtest/gtest.h>

#include "cli/doctor/nccl_settings.hpp"
#include "cli/launch/job.hpp"
#include "cli_test_support.hpp"

namespace braid::cli {
namespace {

Installation installation() {
  Installation found;
  found.library = "/opt/braid/lib/libbraid.so";
  found.tuner_plugin = "/opt/braid/lib/libnccl-tuner-braid.so";
  found.vgpu_folder = "/opt/braid/lib/vgpu";
  return found;
}

EnvironmentBlock block(std::initializer_list<const char*> entries) {
  std::vector<const char*> pointers(entries);
  pointers.push_back(nullptr);
  return EnvironmentBlock(pointers.data());
}

TEST(EnvironmentBlock, ReadsAndKeepsEntries) {
  const EnvironmentBlock environment = block({"A=1", "B=x=y", "C="});
  EXPECT_EQ(environment.get("A"), "1");
  EXPECT_EQ(environment.get("B"), "x=y");
  EXPECT_EQ(environment.get("C"), "");
  EXPECT_EQ(environment.get("D"), std::nullopt);
  EXPECT_EQ(environment.entries(), (std::vector<std::string>{"A=1", "B=x=y", "C="}));
}

TEST(EnvironmentBlock, PrependKeepsTheUsersEntriesAndMentionsOursOnce) {
  EnvironmentBlock environment = block({"LD_PRELOAD=/a.so:/ours.so::/b.so"});
  environment.prepend("LD_PRELOAD", "/ours.so");
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/ours.so:/a.so:/b.so");
  environment.prepend("NEW", "/x");
  EXPECT_EQ(environment.get("NEW"), "/x");
}

TEST(JobEnvironment, AutoPreloadsAndKeepsTheUsersPreload) {
  CheckedJob job;
  job.request.mode = config::Mode::kAuto;
  job.request.frozen = true;
  job.trace_folder = "/t";
  const EnvironmentBlock environment = build_environment(
      job, installation(), block({"LD_PRELOAD=/user.so", "BRAID_POLICY=/stale.toml"}), "");
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/opt/braid/lib/libbraid.so:/user.so");
  EXPECT_EQ(environment.get("BRAID_MODE"), "auto");
  EXPECT_EQ(environment.get("BRAID_FROZEN"), "1");
  EXPECT_EQ(environment.get("BRAID_TRACE_DIR"), "/t");
  EXPECT_EQ(environment.get("BRAID_POLICY"), std::nullopt);
  EXPECT_EQ(environment.get("BRAID_VGPU_TOPOLOGY"), std::nullopt);
  EXPECT_EQ(environment.get("NCCL_TUNER_PLUGIN"), std::nullopt);
}

TEST(JobEnvironment, OffIsWithoutPreload) {
  CheckedJob job;
  job.request.mode = config::Mode::kOff;
  const EnvironmentBlock environment = build_environment(job, installation(), block({}), "");
  EXPECT_EQ(environment.get("LD_PRELOAD"), std::nullopt);
  EXPECT_EQ(environment.get("BRAID_MODE"), "off");
}

TEST(JobEnvironment, TunerPluginOnlyWithTunerRulesAndNeverOverTheUsers) {
  CheckedJob job;
  job.request.mode = config::Mode::kAuto;
  job.policy_path = "/p.toml";
  job.policy.emplace();
  const EnvironmentBlock quiet = block({"HOME=/nonexistent"});
  EXPECT_EQ(build_environment(job, installation(), quiet, "").get("NCCL_TUNER_PLUGIN"),
            std::nullopt);
  job.policy->tuner_rules.emplace_back();
  EXPECT_EQ(build_environment(job, installation(), quiet, "").get("NCCL_TUNER_PLUGIN"),
            installation().tuner_plugin);
  EXPECT_EQ(build_environment(job, installation(), quiet, "").get("BRAID_POLICY"), "/p.toml");
  const EnvironmentBlock own = block({"HOME=/nonexistent", "NCCL_TUNER_PLUGIN=mine.so"});
  EXPECT_EQ(build_environment(job, installation(), own, "").get("NCCL_TUNER_PLUGIN"), "mine.so");
  TemporaryFolder home;
  home.write(".nccl.conf", "NCCL_TUNER_PLUGIN=fromfile.so\n");
  EnvironmentBlock with_file;
  with_file.set("HOME", home.path());
  EXPECT_EQ(build_environment(job, installation(), with_file, "").get("NCCL_TUNER_PLUGIN"),
            std::nullopt);
}

TEST(JobEnvironment, VirtualGpusComeFirstOnTheLibraryPath) {
  CheckedJob job;
  job.request.mode = config::Mode::kObserve;
  job.topology_path = "/box.xml";
  job.topology.emplace();
  const EnvironmentBlock environment =
      build_environment(job, installation(), block({"LD_LIBRARY_PATH=/cuda/lib64"}), "/dev/shm/s");
  EXPECT_EQ(environment.get("LD_LIBRARY_PATH"), "/opt/braid/lib/vgpu:/cuda/lib64");
  EXPECT_EQ(environment.get("BRAID_VGPU_TOPOLOGY"), "/box.xml");
  EXPECT_EQ(environment.get("BRAID_VGPU_SESSION"), "/dev/shm/s");
}

TEST(JobEnvironment, SettingsOfAnArmComeLastButBehindOurPreload) {
  CheckedJob job;
  job.request.mode = config::Mode::kObserve;
  job.request.environment = {{"NCCL_ALGO", "Ring"}, {"LD_PRELOAD", "/libnccl.so.2"}};
  const EnvironmentBlock environment =
      build_environment(job, installation(), block({"NCCL_ALGO=Tree"}), "");
  EXPECT_EQ(environment.get("NCCL_ALGO"), "Ring");
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/opt/braid/lib/libbraid.so:/libnccl.so.2");
}

TEST(JobEnvironment, RankVariablesAreTorchruns) {
  EnvironmentBlock environment;
  set_rank_variables(&environment, 3, 8, 29500);
  EXPECT_EQ(environment.entries(),
            (std::vector<std::string>{"LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8", "MASTER_ADDR=127.0.0.1",
                                      "MASTER_PORT=29500", "RANK=3", "WORLD_SIZE=8"}));
}

TEST(NcclConf, ParsesAsNcclDoesAndTheEnvironmentWins) {
  const auto settings = parse_nccl_conf("# comment\nNCCL_ALGO=Tree\r\nnonsense\n=x\nA=b=c", "f");
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].value, "Tree");
  EXPECT_EQ(settings[0].source, "f:2");
  EXPECT_EQ(settings[1].value, "b=c");
  TemporaryFolder home;
  home.write(".nccl.conf", "NCCL_ALGO=Tree\nNCCL_ALGO=Ring\nNCCL_PROTO=LL\n");
  EnvironmentBlock environment;
  environment.set("HOME", home.path());
  EXPECT_EQ(find_nccl_setting(environment, "NCCL_ALGO"), "Tree");
  environment.set("NCCL_ALGO", "Ring");
  EXPECT_EQ(find_nccl_setting(environment, "NCCL_ALGO"), "Ring");
  EXPECT_EQ(find_nccl_setting(environment, "NCCL_PROTO"), "LL");
}

}  // namespace
}  // namespace braid::cli
