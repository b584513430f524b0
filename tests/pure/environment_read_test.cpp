#include <gtest/gtest.h>

#include <map>
#include <set>

#include "config/environment.hpp"

namespace braid::config {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Environment> read(const Variables& variables) {
  return read_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(EnvironmentRead, DefaultsHoldWithoutVariablesAndWithEmptyOnes) {
  Variables empty;
  for (const EnvironmentEntry& entry : environment_table()) {
    empty[entry.name] = "";
  }
  for (const Variables& variables : {Variables{}, empty}) {
    const auto env = read(variables);
    ASSERT_TRUE(env) << env.error().text();
    EXPECT_EQ(env->mode, Mode::kObserve);
    EXPECT_FALSE(env->mode_is_set);
    EXPECT_EQ(env->policy_path, "");
    EXPECT_EQ(env->on_error, OnError::kFail);
    EXPECT_EQ(env->debug, DebugLevel::kWarn);
    EXPECT_EQ(env->debug_subsystems, kSubsysAll);
    EXPECT_FALSE(env->summary);
    EXPECT_TRUE(env->vgpu_compute);
    EXPECT_EQ(env->vgpu_kernels, UnknownKernels::kError);
    EXPECT_EQ(env->vgpu_memory, 0u);
  }
}

TEST(EnvironmentRead, EveryVariableReachesItsField) {
  const auto env = read({{"BRAID_MODE", "auto"},
                         {"BRAID_POLICY", "/p.toml"},
                         {"BRAID_FROZEN", "1"},
                         {"BRAID_TRACE_DIR", "/t"},
                         {"BRAID_ON_ERROR", "stock"},
                         {"BRAID_METRICS", "/m"},
                         {"BRAID_VERIFY", "100"},
                         {"BRAID_DEBUG", "trace"},
                         {"BRAID_DEBUG_SUBSYS", "init,tuner"},
                         {"BRAID_SUMMARY", "0"},
                         {"BRAID_VGPU_TOPOLOGY", "/x.xml"},
                         {"BRAID_VGPU_SESSION", "/s"},
                         {"BRAID_VGPU_SMS", "84"},
                         {"BRAID_VGPU_QUEUES", "32"},
                         {"BRAID_VGPU_SEED", "18446744073709551615"},
                         {"BRAID_VGPU_COMPUTE", "off"},
                         {"BRAID_VGPU_KERNELS", "skip"},
                         {"BRAID_VGPU_KERNEL_PATH", "/a.so:/b.so"},
                         {"BRAID_VGPU_MEMORY", "24GiB"}});
  ASSERT_TRUE(env) << env.error().text();
  EXPECT_EQ(env->mode, Mode::kAuto);
  EXPECT_TRUE(env->mode_is_set);
  EXPECT_EQ(env->policy_path, "/p.toml");
  EXPECT_TRUE(env->frozen);
  EXPECT_EQ(env->trace_dir, "/t");
  EXPECT_EQ(env->on_error, OnError::kStock);
  EXPECT_EQ(env->metrics_path, "/m");
  EXPECT_EQ(env->verify_every, 100u);
  EXPECT_EQ(env->debug, DebugLevel::kTrace);
  EXPECT_EQ(env->debug_subsystems, static_cast<uint32_t>(kSubsysInit | kSubsysTuner));
  EXPECT_FALSE(env->summary);
  EXPECT_EQ(env->vgpu_topology, "/x.xml");
  EXPECT_EQ(env->vgpu_session, "/s");
  EXPECT_EQ(env->vgpu_sms, 84);
  EXPECT_EQ(env->vgpu_queues, 32);
  EXPECT_EQ(env->vgpu_seed, ~0ull);
  EXPECT_FALSE(env->vgpu_compute);
  EXPECT_EQ(env->vgpu_kernels, UnknownKernels::kSkip);
  EXPECT_EQ(env->vgpu_kernel_path, "/a.so:/b.so");
  EXPECT_EQ(env->vgpu_memory, 24ull << 30);
}

TEST(EnvironmentRead, SummaryFollowsTheModeUnlessSet) {
  EXPECT_TRUE(read({{"BRAID_MODE", "auto"}})->summary);
  EXPECT_FALSE(read({{"BRAID_MODE", "off"}})->summary);
  EXPECT_TRUE(read({{"BRAID_MODE", "off"}, {"BRAID_SUMMARY", "1"}})->summary);
}

TEST(EnvironmentRead, SubsystemListsMayBeInverted) {
  EXPECT_EQ(read({{"BRAID_DEBUG_SUBSYS", "^nccl,vgpu"}})->debug_subsystems,
            kSubsysAll & ~static_cast<uint32_t>(kSubsysNccl | kSubsysVgpu));
  EXPECT_EQ(read({{"BRAID_DEBUG_SUBSYS", "^all"}})->debug_subsystems, 0u);
}

TEST(EnvironmentRead, WrongValuesNameVariableValueAndWhatWasExpected) {
  const struct {
    const char* name;
    const char* value;
    const char* expected;
  } cases[] = {{"BRAID_MODE", "obsrve", "off, observe or auto (did you mean 'observe'?)"},
               {"BRAID_MODE", "AUTO", "did you mean 'auto'?"},
               {"BRAID_FROZEN", "yes", "0 or 1"},
               {"BRAID_ON_ERROR", "ignore", "fail or stock"},
               {"BRAID_VERIFY", "-1", "a whole number from 0"},
               {"BRAID_VERIFY", "1.5", "a whole number from 0"},
               {"BRAID_VERIFY", "18446744073709551616", "a whole number from 0"},
               {"BRAID_DEBUG", "debug", "none, warn, info or trace"},
               {"BRAID_DEBUG_SUBSYS", "init,,nccl", "init, nccl"},
               {"BRAID_DEBUG_SUBSYS", "init,tunr", "did you mean 'tuner'?"},
               {"BRAID_DEBUG_SUBSYS", "^", "init, nccl"},
               {"BRAID_SUMMARY", "2", "0 or 1"},
               {"BRAID_VGPU_SMS", "0", "from 1 to 1024"},
               {"BRAID_VGPU_SMS", "84x", "from 1 to 1024"},
               {"BRAID_VGPU_QUEUES", "33", "from 1 to 32"},
               {"BRAID_VGPU_SEED", "abc", "a whole number from 0"},
               {"BRAID_VGPU_COMPUTE", "no", "on or off"},
               {"BRAID_VGPU_KERNELS", "warn", "error or skip"},
               {"BRAID_VGPU_MEMORY", "0", "a size above 0"},
               {"BRAID_VGPU_MEMORY", "lots", "a size above 0"}};
  for (const auto& c : cases) {
    const auto env = read({{c.name, c.value}});
    ASSERT_FALSE(env) << c.name << "=" << c.value;
    EXPECT_EQ(env.error().where, c.name);
    EXPECT_NE(env.error().what.find(std::string("'") + c.value + "'"), std::string::npos)
        << env.error().what;
    EXPECT_NE(env.error().what.find(c.expected), std::string::npos) << env.error().what;
  }
}

TEST(EnvironmentRead, TheFirstWrongValueIsTheError) {
  const auto env = read({{"BRAID_MODE", "x"}, {"BRAID_VGPU_MEMORY", "y"}});
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().where, "BRAID_MODE");
}

TEST(EnvironmentRead, TheTableIsComplete) {
  std::set<std::string> names;
  for (const EnvironmentEntry& entry : environment_table()) {
    EXPECT_EQ(entry.name.rfind("BRAID_", 0), 0u) << entry.name;
    EXPECT_FALSE(entry.values.empty() || entry.default_value.empty() || entry.help.empty())
        << entry.name;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " twice";
  }
  EXPECT_EQ(names.size(), 20u);
}

TEST(EnvironmentUnknown, NamesAreFoundWithTheNearestKnownOne) {
  const char* block[] = {
      "PATH=/bin",     "BRAID_POLICY=x", "BRAID_POLCY=x", "BRAID_", "BRAID_ELEPHANT_SIZE=1",
      "XBRAID_MODE=1", "BRAID_MODE",     nullptr};
  const std::vector<std::string> unknown = unknown_variables(block);
  EXPECT_EQ(unknown, (std::vector<std::string>{"BRAID_POLCY (did you mean 'BRAID_POLICY'?)",
                                               "BRAID_", "BRAID_ELEPHANT_SIZE"}));
  EXPECT_TRUE(unknown_variables(nullptr).empty());
}

TEST(EnvironmentForeign, EmptyIsUnset) {
  setenv("NCCL_ALGO", "", 1);
  EXPECT_EQ(foreign_variable("NCCL_ALGO"), nullptr);
  setenv("NCCL_ALGO", "Ring", 1);
  EXPECT_STREQ(foreign_variable("NCCL_ALGO"), "Ring");
  unsetenv("NCCL_ALGO");
  EXPECT_EQ(foreign_variable("NCCL_ALGO"), nullptr);
}

// The process's own reading happens once, so it is tried in a child that starts with a wrong value.
TEST(EnvironmentProcessDeathTest, AWrongValueKeepsItsDefaultAndTheRest) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("BRAID_MODE", "wrong", 1);
        setenv("BRAID_POLICY", "/p.toml", 1);
        const bool right =
            environment().mode == Mode::kObserve && environment().policy_path == "/p.toml" &&
            environment_error().has_value() && environment_error()->where == "BRAID_MODE";
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace braid::config
