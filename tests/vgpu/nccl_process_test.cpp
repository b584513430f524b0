// Ranks as processes of one session: right results, and the death of one.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "nccl_test_support.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

/// A session of its own with one process for each rank.
class Processes {
 public:
  Processes(int ranks, const std::string& what) {
    use_box();
    char folder[] = "/tmp/braid-nccl-test-XXXXXX";
    folder_ = mkdtemp(folder);
    const std::string session = "BRAID_VGPU_SESSION=" + folder_ + "/session";
    std::vector<char*> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      environment.push_back(*entry);
    }
    environment.push_back(const_cast<char*>(session.c_str()));
    environment.push_back(nullptr);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::string> words = {BRAID_BINARY_DIR "/tests/nccl_rank_process",
                                        std::to_string(rank), std::to_string(ranks),
                                        folder_ + "/id", what};
      std::vector<char*> arguments;
      for (std::string& word : words) {
        arguments.push_back(word.data());
      }
      arguments.push_back(nullptr);
      pid_t pid = -1;
      EXPECT_EQ(
          posix_spawn(&pid, arguments[0], nullptr, nullptr, arguments.data(), environment.data()),
          0);
      pids_.push_back(pid);
    }
  }
  ~Processes() { std::filesystem::remove_all(folder_); }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Exit status of a rank; -signal when it was killed.
  int wait(int rank) {
    int status = 0;
    waitpid(pids_[static_cast<size_t>(rank)], &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void kill(int rank) { ::kill(pids_[static_cast<size_t>(rank)], SIGKILL); }

 private:
  std::string folder_;
  std::vector<pid_t> pids_;
};

TEST(NcclProcesses, CollectivesBetweenProcesses) {
  Processes processes(4, "sums");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(processes.wait(rank), 0) << "rank " << rank;
  }
}

TEST(NcclProcesses, MessagesBetweenProcesses) {
  Processes processes(3, "messages");
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(processes.wait(rank), 0) << "rank " << rank;
  }
}

TEST(NcclProcesses, AKilledRankIsARemoteErrorForTheOthers) {
  Processes processes(4, "die");
  // The others are looked at first: the killed one stays a zombie until the end.
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(processes.wait(rank), 0) << "rank " << rank;
  }
  EXPECT_EQ(processes.wait(3), -SIGKILL);
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
