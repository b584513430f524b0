#include <gtest/gtest.h>

#include "tuner_test_support.hpp"

namespace braid::tuner {
namespace {

constexpr const char* kRing = "schema = \"braid-policy/1\"\n[[tuner.rule]]\nalgorithm = \"ring\"\n";

class TunerSettings : public testing::Test {
 protected:
  TunerSettings() { test::logged().clear(); }

  Settings make(const std::optional<Error>& error = std::nullopt) {
    return make_settings(environment_, error, false);
  }

  // The one line that making a tuner wrote.
  static std::string line() {
    EXPECT_EQ(test::logged().size(), 1u);
    return test::logged().empty() ? "" : test::logged().front().second;
  }

  test::TemporaryFolder folder_;
  config::Environment environment_;
};

void expect_in(const std::string& text, const std::string& word) {
  EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
}

TEST_F(TunerSettings, WithoutAPolicyNothingChanges) {
  const Settings settings = make();
  EXPECT_FALSE(settings.error);
  ASSERT_TRUE(make_tuner(settings, 8, 1, test::keep_log));
  expect_in(line(), "changes nothing: BRAID_POLICY is not set");
}

TEST_F(TunerSettings, APolicyIsFollowedAndNamed) {
  environment_.policy_path = folder_.write("p.toml", kRing);
  const Settings settings = make();
  ASSERT_TRUE(make_tuner(settings, 8, 2, test::keep_log));
  expect_in(line(), "follows " + environment_.policy_path);
  expect_in(line(), "8 ranks on 2 nodes");
  char digest[32];
  std::snprintf(digest, sizeof(digest), "%016llx",
                static_cast<unsigned long long>(settings.policy.digest));
  expect_in(line(), digest);
  EXPECT_EQ(test::logged().front().first, abi::kLogInfo);
}

TEST_F(TunerSettings, RulesForOtherCommunicatorsAreSaidToChangeNothing) {
  environment_.policy_path = folder_.write("p.toml", std::string(kRing) + "ranks = 4\n");
  ASSERT_TRUE(make_tuner(make(), 8, 1, test::keep_log));
  expect_in(line(), "no rule of " + environment_.policy_path);
}

TEST_F(TunerSettings, APolicyWithoutTunerRulesChangesNothing) {
  environment_.policy_path = folder_.write("p.toml", "schema = \"braid-policy/1\"\n");
  ASSERT_TRUE(make_tuner(make(), 8, 1, test::keep_log));
  expect_in(line(), "has no [[tuner.rule]]");
}

TEST_F(TunerSettings, ABrokenPolicyFailsWithItsReason) {
  environment_.policy_path = folder_.write("p.toml", std::string(kRing) + "chanels = 2\n");
  const auto tuner = make_tuner(make(), 8, 1, test::keep_log);
  ASSERT_FALSE(tuner);
  EXPECT_EQ(tuner.error().where, environment_.policy_path + ":4:1");
  EXPECT_EQ(test::logged().front().first, abi::kLogWarn);
  expect_in(line(), environment_.policy_path + ":4:1: unknown key 'chanels'");
}

TEST_F(TunerSettings, ABrokenPolicyIsStockWhereThatWasAskedFor) {
  environment_.policy_path = folder_.path_of("absent.toml");
  environment_.on_error = config::OnError::kStock;
  const auto tuner = make_tuner(make(), 8, 1, test::keep_log);
  ASSERT_TRUE(tuner);
  EXPECT_EQ(test::logged().front().first, abi::kLogWarn);
  expect_in(line(), "going on as stock NCCL");
  test::Table table{};
  int channels = 0;
  (*tuner)->choose(abi::kAllReduce, 1024, table.begin(), 7, 3, &channels);
  EXPECT_EQ(table, test::Table{});
}

TEST_F(TunerSettings, AWrongVariableIsAnErrorOnlyIfThereIsAPolicy) {
  const Error wrong{"BRAID_MODE", "'x' is wrong"};
  EXPECT_FALSE(make(wrong).error);
  environment_.policy_path = folder_.write("p.toml", kRing);
  ASSERT_TRUE(make(wrong).error);
  EXPECT_EQ(make(wrong).error->where, "BRAID_MODE");
}

TEST_F(TunerSettings, ModesThatRewriteNothingChangeNothing) {
  environment_.policy_path = folder_.write("p.toml", kRing);
  EXPECT_TRUE(make().idle_reason.empty());  // the plugin alone, no mode asked for
  environment_.mode_is_set = true;
  environment_.mode = config::Mode::kObserve;
  EXPECT_EQ(make().idle_reason, "BRAID_MODE is observe");
  environment_.mode = config::Mode::kOff;
  EXPECT_EQ(make().idle_reason, "BRAID_MODE is off");
  environment_.mode = config::Mode::kAuto;
  EXPECT_TRUE(make().idle_reason.empty());
}

TEST_F(TunerSettings, AUsersStockChoiceIsMentioned) {
  environment_.policy_path = folder_.write("p.toml", kRing);
  ASSERT_TRUE(make_tuner(make_settings(environment_, std::nullopt, true), 8, 1, test::keep_log));
  expect_in(line(), "NCCL_ALGO and NCCL_PROTO");
}

TEST_F(TunerSettings, WithoutALoggerItsOwnLogIsUsed) {
  environment_.policy_path = folder_.path_of("absent.toml");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(make_tuner(make(), 8, 1, nullptr));
  expect_in(testing::internal::GetCapturedStderr(), "BRAID WARN Tuner: the policy cannot be used");
}

}  // namespace
}  // namespace braid::tuner
