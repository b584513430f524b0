// What braid says to its user on stderr, and the progress line of long work.
#pragma once

#include <string>

#include "config/result.hpp"

namespace braid::cli {

/// "braid: error: policy.toml:3:1: unknown key …"
void print_error(const Error& error);
void print_error(const std::string& text);
/// "braid: warning: …"
void print_warning(const std::string& text);
/// "braid: …"
void print_note(const std::string& text);

/// A line on stderr that says how far a long piece of work is. On a terminal the line is rewritten
/// in place; elsewhere each step is a line of its own. One thread.
class Progress {
 public:
  /// `total` steps are expected; `quiet` prints nothing.
  explicit Progress(int total, bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts the next step: "[2/5] arm tree: running".
  void step(const std::string& what);
  /// Changes the text of the current step without counting.
  void detail(const std::string& what);
  /// Clears the line, so that other output can follow.
  void clear();

 private:
  void show(const std::string& text);

  int total_;
  int done_ = 0;
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace braid::cli
