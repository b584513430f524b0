#include "cli/messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace braid::cli {
namespace {

void print_line(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

}  // namespace

void print_error(const Error& error) { print_error(error.text()); }
void print_error(const std::string& text) { print_line("braid: error: " + text); }
void print_warning(const std::string& text) { print_line("braid: warning: " + text); }
void print_note(const std::string& text) { print_line("braid: " + text); }

Progress::Progress(int total, bool quiet)
    : total_(total), quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::step(const std::string& what) {
  ++done_;
  show(fmt::format("[{}/{}] {}", done_, total_, what));
}

void Progress::detail(const std::string& what) {
  if (terminal_) {
    show(fmt::format("[{}/{}] {}", done_, total_, what));
  }
}

void Progress::show(const std::string& text) {
  if (quiet_) {
    return;
  }
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    shown_ = true;
  } else {
    print_line("braid: " + text);
  }
}

void Progress::clear() {
  if (shown_) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    shown_ = false;
  }
}

}  // namespace braid::cli
