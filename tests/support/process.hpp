// Running programs from tests, with an environment of their own.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace braid::test {

using Variables = std::map<std::string, std::string>;

struct Outcome {
  int status = -1;  // exit status; 128 + signal when killed; 124 on timeout
  std::string out;
  std::string err;
};

/// A started program. The destructor kills what still runs.
class Process {
 public:
  Process(const std::vector<std::string>& command, const Variables& variables);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits until it ends, or kills it after `seconds`.
  Outcome wait(int seconds);
  int pid() const { return pid_; }

 private:
  int pid_ = -1;
  std::string out_path_;
  std::string err_path_;
};

/// Starts, waits, and returns what happened.
Outcome run(const std::vector<std::string>& command, const Variables& variables = {},
            int seconds = 120);

/// A fresh folder, removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  /// Writes a file in it and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

std::string read_file(const std::string& path);

/// The environment of a virtual box: stand-ins first on the library path, this topology.
Variables virtual_box(const std::string& topology = "a6000x8-bridged-amd-2socket");

}  // namespace braid::test
