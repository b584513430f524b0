// Passes on the output of a process line by line with a tag before each line.
#pragma once

#include <string>

namespace braid::cli {

/// One stream of one process. Not copied: it owns the read end of a pipe.
class OutputRelay {
 public:
  OutputRelay(int read_end, int write_end, std::string tag);
  ~OutputRelay();
  OutputRelay(OutputRelay&& other) noexcept;
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;
  OutputRelay& operator=(OutputRelay&&) = delete;

  int descriptor() const { return read_end_; }
  bool open() const { return read_end_ >= 0; }
  /// Reads what is there (the pipe is non-blocking) and writes the whole lines. At the end of the
  /// stream the rest is written, with a newline, and the pipe is closed.
  void pump();

 private:
  void write_line(const std::string& line) const;
  void close_pipe();

  int read_end_;
  int write_end_;  // where lines go; not owned
  std::string tag_;
  std::string rest_;
};

}  // namespace braid::cli
