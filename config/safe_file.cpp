#include "config/safe_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>
#include <utility>

namespace braid::config {
namespace {

constexpr int kMostLinks = 40;  // as the kernel allows in one path

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

tl::unexpected<Error> system_error(const std::string& path, const char* action) {
  const int code = errno;
  std::array<char, 128> text{};
  return fail(path, std::string(action) + ": " + strerror_r(code, text.data(), text.size()));
}

// Puts the components of `path` in front of `pending`.
void push_components(const std::string& path, std::deque<std::string>& pending) {
  size_t end = path.size();
  while (end > 0) {
    const size_t slash = path.rfind('/', end - 1);
    const size_t start = slash == std::string::npos ? 0 : slash + 1;
    if (end > start) {
      pending.push_front(path.substr(start, end - start));
    }
    end = slash == std::string::npos ? 0 : slash;
  }
}

Descriptor open_start(const std::string& path) {
  return Descriptor(
      ::open(!path.empty() && path.front() == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// Opens a file one component at a time, so that each link is judged by the very folder it lies in.
Result<Descriptor> open_guarded(const std::string& path) {
  Descriptor folder = open_start(path);
  std::deque<std::string> pending;
  push_components(path, pending);
  if (pending.empty()) {
    return fail(path, "the path names no file");
  }
  int links = 0;
  while (folder.is_open()) {
    const std::string name = pending.front();
    pending.pop_front();
    struct stat entry {};
    if (::fstatat(folder.get(), name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0) {
      return system_error(path, "cannot be opened");
    }
    if (S_ISLNK(entry.st_mode)) {
      struct stat holder {};
      if (::fstat(folder.get(), &holder) != 0) {
        return system_error(path, "cannot be opened");
      }
      if ((holder.st_mode & S_IWOTH) != 0) {
        return fail(path, "'" + name +
                              "' is a symbolic link in a folder that anybody may write to; "
                              "expected a regular file (name the link's target instead)");
      }
      std::array<char, PATH_MAX> target{};
      const ssize_t length = ::readlinkat(folder.get(), name.c_str(), target.data(), target.size());
      if (length < 0 || ++links > kMostLinks) {
        errno = length < 0 ? errno : ELOOP;
        return system_error(path, "cannot be opened");
      }
      const std::string goal(target.data(), static_cast<size_t>(length));
      push_components(goal, pending);
      if (!goal.empty() && goal.front() == '/') {
        folder = open_start(goal);
      }
      if (pending.empty()) {
        return fail(path, "is a folder; expected a regular file");
      }
      continue;
    }
    if (pending.empty()) {
      if (!S_ISREG(entry.st_mode)) {
        return fail(path, S_ISDIR(entry.st_mode)
                              ? "is a folder; expected a regular file"
                              : "is a pipe, socket or device; expected a regular file");
      }
      Descriptor file(::openat(folder.get(), name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
      if (!file.is_open()) {
        return system_error(path, "cannot be opened");
      }
      return file;
    }
    folder = Descriptor(
        ::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return system_error(path, "cannot be opened");
}

Status write_all(int fd, const std::string& content, const std::string& path) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t written = ::write(fd, content.data() + done, content.size() - done);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return system_error(path, "cannot be written");
    }
    done += static_cast<size_t>(written);
  }
  if (::fsync(fd) != 0) {
    return system_error(path, "cannot be written");
  }
  return {};
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, size_t limit) {
  auto file = open_guarded(path);
  if (!file) {
    return tl::unexpected<Error>(std::move(file.error()));
  }
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) {
    return system_error(path, "cannot be read");
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(path, "is no regular file");
  }
  const auto too_large = [&] {
    return fail(path, "is larger than the " + std::to_string(limit) + " bytes that are read");
  };
  if (static_cast<uint64_t>(info.st_size) > limit) {
    return too_large();
  }
  std::string content;
  std::array<char, 16384> piece{};
  while (true) {
    const ssize_t got = ::read(file->get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return system_error(path, "cannot be read");
    }
    if (got == 0) {
      return content;
    }
    content.append(piece.data(), static_cast<size_t>(got));
    if (content.size() > limit) {  // it grew while being read
      return too_large();
    }
  }
}

Status replace_file(const std::string& path, const std::string& content) {
  const std::string beside = path + ".new." + std::to_string(::getpid());
  Status status;
  {
    const Descriptor file(
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file.is_open()) {
      return system_error(path, "cannot be written");
    }
    status = write_all(file.get(), content, path);
  }
  if (status && std::rename(beside.c_str(), path.c_str()) != 0) {
    status = system_error(path, "cannot be written");
  }
  if (!status) {
    ::unlink(beside.c_str());
  }
  return status;
}

}  // namespace braid::config
