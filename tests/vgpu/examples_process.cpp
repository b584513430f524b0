#include "examples_process.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

namespace braid::testing {
namespace {

constexpr int kTimeLimitSeconds = 200;

std::string quote(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return quoted + "'";
}

Variables with_box(const Variables& variables) {
  Variables all = {{"LD_LIBRARY_PATH", BRAID_BINARY_DIR "/lib/vgpu"},
                   {"BRAID_VGPU_TOPOLOGY",
                    BRAID_SOURCE_DIR "/config/topologies/a6000x8-bridged-amd-2socket.xml"}};
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

class Process {
 public:
  Process(const std::string& program, const std::vector<std::string>& arguments,
          const Variables& variables) {
    std::string command = "exec env";
    for (const auto& [name, value] : with_box(variables)) {
      command += " " + quote(name + "=" + value);
    }
    command += " timeout -k 5 " + std::to_string(kTimeLimitSeconds) + " " +
               quote(std::string(BRAID_BINARY_DIR) + "/examples/" + program);
    for (const std::string& argument : arguments) {
      command += " " + quote(argument);
    }
    pipe_ = popen((command + " 2>&1 </dev/null").c_str(), "re");
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ProcessResult wait() {
    ProcessResult result;
    if (pipe_ == nullptr) {
      return result;
    }
    char buffer[4096];
    for (size_t got = 0; (got = fread(buffer, 1, sizeof(buffer), pipe_)) > 0;) {
      result.output.append(buffer, got);
    }
    const int status = pclose(pipe_);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }

 private:
  FILE* pipe_ = nullptr;
};

/// A port nobody listens on now.
int free_port() {
  const int handle = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (bind(handle, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(handle, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    ADD_FAILURE() << "no free port";
  }
  close(handle);
  return ntohs(address.sin_port);
}

}  // namespace

std::string ProcessResult::checksum() const {
  const std::string mark = "\nchecksum ";
  const size_t position = ("\n" + output).rfind(mark);
  if (position == std::string::npos) {
    return "";
  }
  const size_t first = position + mark.size() - 1;
  return output.substr(first, output.find('\n', first) - first);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "braid-examples-XXXXXX";
  path_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
  EXPECT_FALSE(path_.empty());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ProcessResult run_example(const std::string& program, const std::vector<std::string>& arguments,
                          const Variables& variables) {
  return Process(program, arguments, variables).wait();
}

std::vector<ProcessResult> run_example_processes(const std::string& program,
                                                 const std::vector<std::string>& arguments,
                                                 int ranks, const Variables& variables) {
  const TemporaryFolder session;
  const std::string port = std::to_string(free_port());
  std::vector<std::unique_ptr<Process>> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    Variables all = {{"RANK", std::to_string(rank)},
                     {"LOCAL_RANK", std::to_string(rank)},
                     {"WORLD_SIZE", std::to_string(ranks)},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"MASTER_PORT", port},
                     {"BRAID_VGPU_SESSION", session.path()}};
    all.insert(all.end(), variables.begin(), variables.end());
    processes.push_back(std::make_unique<Process>(program, arguments, all));
  }
  std::vector<ProcessResult> results;
  for (const auto& process : processes) {
    results.push_back(process->wait());
  }
  return results;
}

std::vector<float> read_floats(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<float> values(file.is_open() ? static_cast<size_t>(file.tellg()) / sizeof(float) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

}  // namespace braid::testing
