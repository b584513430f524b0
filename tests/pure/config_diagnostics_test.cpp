#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <regex>
#include <thread>
#include <vector>

#include "config/diagnostics.hpp"

namespace braid::config {
namespace {

class ConfigDiagnostics : public testing::Test {
 protected:
  ConfigDiagnostics() {
    set_log_sink(&sink_);
    set_log_filter(DebugLevel::kInfo, kSubsysAll);
  }
  ~ConfigDiagnostics() override {
    set_log_sink(nullptr);
    set_log_device(nullptr);
    set_log_filter(DebugLevel::kWarn, kSubsysAll);
  }

  static void keep(void* user, const LogMessage& message) {
    auto* self = static_cast<ConfigDiagnostics*>(user);
    const std::lock_guard lock(self->mutex_);
    self->lines_.emplace_back(message.line);
    self->texts_.emplace_back(message.text);
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<std::string> texts_;
  LogSink sink_{keep, this};
};

TEST_F(ConfigDiagnostics, LineHasTheShapeUsersKnow) {
  BRAID_INFO(Tuner, "Tuner", "%d rules from %s", 3, "policy.toml");
  set_log_device([] { return 5; });
  BRAID_WARN(Init, "Lifecycle", "second");
  ASSERT_EQ(lines_.size(), 2u);
  const std::regex first(R"([^:. ]+:\d+:\d+ \[-\] BRAID INFO Tuner: 3 rules from policy\.toml)");
  const std::regex second(R"([^:. ]+:\d+:\d+ \[5\] BRAID WARN Lifecycle: second)");
  EXPECT_TRUE(std::regex_match(lines_[0], first)) << lines_[0];
  EXPECT_TRUE(std::regex_match(lines_[1], second)) << lines_[1];
  EXPECT_EQ(texts_[0], "3 rules from policy.toml");
  EXPECT_NE(lines_[0].find(":" + std::to_string(getpid()) + ":"), std::string::npos);
}

TEST_F(ConfigDiagnostics, FiltersByLevelAndSubsystem) {
  set_log_filter(DebugLevel::kInfo, kSubsysTuner | kSubsysPlan);
  BRAID_INFO(Tuner, "T", "shown");
  BRAID_INFO(Nccl, "N", "not this part");
  BRAID_TRACE(Tuner, "T", "not this level");
  BRAID_WARN(Nccl, "N", "a warning passes every part's filter");
  EXPECT_EQ(texts_, (std::vector<std::string>{"shown", "a warning passes every part's filter"}));
  set_log_filter(DebugLevel::kNone, kSubsysAll);
  BRAID_WARN(Nccl, "N", "nothing at all");
  EXPECT_EQ(texts_.size(), 2u);
  EXPECT_FALSE(log_enabled(DebugLevel::kNone, kSubsysAll));
}

TEST_F(ConfigDiagnostics, FilteredArgumentsAreNotEvaluated) {
  int evaluated = 0;
  BRAID_TRACE(Tuner, "T", "%d", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  BRAID_INFO(Tuner, "T", "%d", ++evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST_F(ConfigDiagnostics, CountLimitsHoldAcrossThreads) {
  const auto log_many = [] {
    for (int i = 0; i < 1000; ++i) {
      BRAID_LOG_FIRST(7, kInfo, Plan, "P", "limited");
      BRAID_LOG_ONCE(kInfo, Plan, "P", "once");
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(log_many);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(std::count(texts_.begin(), texts_.end(), "limited"), 7);
  EXPECT_EQ(std::count(texts_.begin(), texts_.end(), "once"), 1);
}

TEST_F(ConfigDiagnostics, LongMessagesAreCutAndControlCharactersCannotForgeLines) {
  BRAID_INFO(Tuner, "T", "%s", std::string(5000, 'x').c_str());
  BRAID_INFO(Tuner, "T", "a\nhost:1:1 [0] BRAID WARN T: forged\x1b[31m");
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_LT(lines_[0].size(), 2048u);
  EXPECT_EQ(lines_[0].substr(lines_[0].size() - 3), "...");
  EXPECT_EQ(lines_[1].find('\n'), std::string::npos);
  EXPECT_EQ(lines_[1].find('\x1b'), std::string::npos);
}

TEST_F(ConfigDiagnostics, KeepsErrno) {
  errno = EAGAIN;
  BRAID_INFO(Tuner, "T", "%s", std::strerror(ENOENT));
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(ConfigDiagnostics, WithoutASinkALineGoesToStderr) {
  set_log_sink(nullptr);
  testing::internal::CaptureStderr();
  BRAID_WARN(Init, "Lifecycle", "to stderr");
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_NE(written.find("BRAID WARN Lifecycle: to stderr\n"), std::string::npos) << written;
}

}  // namespace
}  // namespace braid::config
