#include "cli/launch/output_relay.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace braid::cli {

OutputRelay::OutputRelay(int read_end, int write_end, std::string tag)
    : read_end_(read_end), write_end_(write_end), tag_(std::move(tag)) {}

OutputRelay::OutputRelay(OutputRelay&& other) noexcept
    : read_end_(std::exchange(other.read_end_, -1)),
      write_end_(other.write_end_),
      tag_(std::move(other.tag_)),
      rest_(std::move(other.rest_)) {}

OutputRelay::~OutputRelay() { close_pipe(); }

void OutputRelay::close_pipe() {
  if (read_end_ >= 0) {
    close(read_end_);
    read_end_ = -1;
  }
}

void OutputRelay::pump() {
  char block[65536];
  while (open()) {
    const ssize_t got = read(read_end_, block, sizeof block);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return;
    }
    if (got <= 0) {
      if (!rest_.empty()) {
        write_line(rest_ + "\n");
        rest_.clear();
      }
      close_pipe();
      return;
    }
    rest_.append(block, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      write_line(rest_.substr(begin, end + 1 - begin));
    }
    rest_.erase(0, begin);
  }
}

void OutputRelay::write_line(const std::string& line) const {
  const std::string text = tag_ + line;
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(write_end_, text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) {
      return;  // the reader of our output has gone; the job goes on
    }
    done += put > 0 ? static_cast<size_t>(put) : 0;
  }
}

}  // namespace braid::cli
