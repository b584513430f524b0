// A private installation of the `braid` program, and ways to run it.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "../pure/cli_test_support.hpp"

namespace braid::cli {

struct RunResult {
  int status = -1;
  std::string out, err;
};

/// bin/braid with a library that does nothing in place of libbraid.so: what the command itself does
/// can be tested without the rest.
class BraidPrefix {
 public:
  BraidPrefix() {
    namespace fs = std::filesystem;
    for (const char* name : {"bin", "lib/vgpu", "share/braid/topologies", "share/braid/policies"}) {
      fs::create_directories(fs::path(folder_.path()) / name);
    }
    fs::copy_file(BRAID_PROGRAM, folder_.path() + "/bin/braid");
    fs::copy_file(BRAID_EMPTY_LIBRARY, folder_.path() + "/lib/libbraid.so");
    folder_.write("share/braid/topologies/pair.xml", bridged_pair_xml());
    folder_.write("share/braid/policies/overlap.toml",
                  "schema = \"braid-policy/1\"\n[[rule]]\nstrategy = \"serial\"\n");
  }

  const TemporaryFolder& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  /// Runs `braid ARGUMENTS` in a shell inside the folder; `before` may set variables.
  RunResult run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = "cd '" + folder_.path() + "' && TMPDIR='" + folder_.path() + "' " +
                                before + " ./bin/braid " + arguments +
                                " >out.txt 2>err.txt </dev/null";
    const int status = std::system(command.c_str());
    RunResult result;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = read_file(path("out.txt"));
    result.err = read_file(path("err.txt"));
    return result;
  }

 private:
  TemporaryFolder folder_;
};

/// A test with its own installation.
class BraidCommand : public ::testing::Test {
 protected:
  BraidPrefix braid_;
};

/// Fails with both outputs shown.
inline ::testing::AssertionResult ended_with(const RunResult& result, int status,
                                             const std::string& text) {
  if (result.status == status && (result.err + result.out).find(text) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "expected status " << status << " and the text '" << text
                                       << "', got " << result.status << "\nstdout:\n"
                                       << result.out << "\nstderr:\n"
                                       << result.err;
}

}  // namespace braid::cli
