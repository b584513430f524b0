// Running the example programs on virtual GPUs, as threads or as processes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace braid::testing {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ProcessResult {
  int exit_code = -1;  // 124: did not end in time
  std::string output;  // stdout and stderr

  /// The text after the last line that starts with "checksum ".
  std::string checksum() const;
};

/// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Runs build/examples/PROGRAM on eight virtual GPUs, unless `variables` chooses another box.
ProcessResult run_example(const std::string& program, const std::vector<std::string>& arguments,
                          const Variables& variables = {});

/// The same as `ranks` processes of one session, with the variables torchrun sets.
std::vector<ProcessResult> run_example_processes(const std::string& program,
                                                 const std::vector<std::string>& arguments,
                                                 int ranks, const Variables& variables = {});

/// A file of fp32 numbers.
std::vector<float> read_floats(const std::string& path);

}  // namespace braid::testing
