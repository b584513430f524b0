#include "tests/support/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace braid::test {
namespace {

std::string temporary_file() {
  std::string path = "/tmp/braid-test-XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) {
    throw std::runtime_error("no temporary file");
  }
  close(descriptor);
  return path;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Process::Process(const std::vector<std::string>& command, const Variables& variables)
    : out_path_(temporary_file()), err_path_(temporary_file()) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::string name = text.substr(0, text.find('='));
    if (!name.starts_with("BRAID_") && !name.starts_with("NCCL_") && !variables.contains(name)) {
      entries.push_back(text);
    }
  }
  for (const auto& [name, value] : variables) {
    entries.push_back(name + "=" + value);
  }
  std::vector<char*> environment;
  for (std::string& entry : entries) {
    environment.push_back(entry.data());
  }
  environment.push_back(nullptr);
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_path_.c_str(), O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_path_.c_str(), O_WRONLY | O_TRUNC, 0600);
  const int error =
      posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error("cannot start " + command[0]);
  }
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  unlink(out_path_.c_str());
  unlink(err_path_.c_str());
}

Outcome Process::wait(int seconds) {
  Outcome outcome;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      outcome.status = 124;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
  if (outcome.status != 124) {
    outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  outcome.out = read_file(out_path_);
  outcome.err = read_file(err_path_);
  return outcome;
}

Outcome run(const std::vector<std::string>& command, const Variables& variables, int seconds) {
  Process process(command, variables);
  return process.wait(seconds);
}

TemporaryFolder::TemporaryFolder() : path_("/tmp/braid-test-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("no temporary folder");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

Variables virtual_box(const std::string& topology) {
  Variables variables;
  variables["LD_LIBRARY_PATH"] = std::string(BRAID_BINARY_DIR) + "/lib/vgpu";
  variables["BRAID_VGPU_TOPOLOGY"] =
      std::string(BRAID_SOURCE_DIR) + "/config/topologies/" + topology + ".xml";
  variables["OPENBLAS_NUM_THREADS"] = "1";
#ifdef BRAID_SANITIZED
  // A preloaded library comes before the sanitizer's runtime, which is as it must be here. The
  // programs end with communicators and devices in use, as training jobs do: what they hold is not
  // a leak.
  variables["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0";
  variables["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1";
  variables["TSAN_OPTIONS"] = "halt_on_error=1";
#endif
  return variables;
}

}  // namespace braid::test
