#include "vgpu/core/process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace braid::vgpu {
namespace {

std::atomic<bool> in_use{false};
std::atomic<bool> forked{false};

// State letter and start time of a process; false when there is none.
bool read_stat(int32_t pid, char* state, uint64_t* start_time) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return false;
  }
  char text[1024];
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) {
    return false;
  }
  text[length] = '\0';
  // The program's name is field 2, in parentheses, and may hold anything: start after the last one.
  const char* cursor = std::strrchr(text, ')');
  if (cursor == nullptr || cursor[1] == '\0' || cursor[2] == '\0') {
    return false;
  }
  *state = cursor[2];
  cursor += 2;
  for (int field = 3; field < 22; ++field) {
    cursor = std::strchr(cursor, ' ');
    if (cursor == nullptr) {
      return false;
    }
    ++cursor;
  }
  *start_time = std::strtoull(cursor, nullptr, 10);
  return true;
}

}  // namespace

ProcessIdentity this_process() {
  static std::atomic<uint64_t> start_time{0};
  static std::atomic<int32_t> pid{0};
  const int32_t now = getpid();
  if (pid.load(std::memory_order_acquire) != now) {
    char state = 0;
    uint64_t ticks = 0;
    read_stat(now, &state, &ticks);
    start_time.store(ticks, std::memory_order_relaxed);
    pid.store(now, std::memory_order_release);
  }
  return {now, start_time.load(std::memory_order_relaxed)};
}

bool is_alive(const ProcessIdentity& process) {
  char state = 0;
  uint64_t start_time = 0;
  if (!read_stat(process.pid, &state, &start_time)) {
    return false;
  }
  return state != 'Z' && state != 'X' && start_time == process.start_time;
}

void mark_process_in_use() {
  static std::once_flag& once = *new std::once_flag;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      if (in_use.load(std::memory_order_relaxed)) {
        forked.store(true, std::memory_order_relaxed);
      }
    });
  });
  in_use.store(true, std::memory_order_relaxed);
}

bool is_fork_child() { return forked.load(std::memory_order_relaxed); }

}  // namespace braid::vgpu
