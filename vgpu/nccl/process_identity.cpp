#include "vgpu/nccl/process_identity.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace braid::vgpu::nccl {
namespace {

struct ProcessState {
  char state = 'X';  // R, S, …, Z: zombie, X: dead
  uint64_t start_ticks = 0;
};

/// Fields 3 and 22 of /proc/<pid>/stat. The name in field 2 may hold anything, so counting starts
/// behind its last parenthesis.
ProcessState read_state(int32_t pid) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return {};
  }
  char text[1024];
  const ssize_t bytes = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (bytes <= 0) {
    return {};
  }
  text[bytes] = '\0';
  const char* field = std::strrchr(text, ')');
  if (field == nullptr || field[1] != ' ') {
    return {};
  }
  field += 2;
  ProcessState found;
  found.state = *field;
  for (int number = 3; number < 22; ++number) {
    field = std::strchr(field, ' ');
    if (field == nullptr) {
      return {};
    }
    ++field;
  }
  found.start_ticks = std::strtoull(field, nullptr, 10);
  return found;
}

}  // namespace

ProcessIdentity this_process() {
  static std::atomic<int32_t> known_pid{0};
  static std::atomic<uint64_t> known_start{0};
  const int32_t pid = getpid();
  if (known_pid.load(std::memory_order_acquire) != pid) {
    known_start.store(read_state(pid).start_ticks, std::memory_order_relaxed);
    known_pid.store(pid, std::memory_order_release);
  }
  return {pid, known_start.load(std::memory_order_relaxed)};
}

uint64_t find_start_ticks(int32_t pid) {
  const ProcessState found = read_state(pid);
  return found.state == 'X' || found.state == 'Z' ? 0 : found.start_ticks;
}

bool is_alive(const ProcessIdentity& process) {
  return process.start_ticks != 0 && find_start_ticks(process.pid) == process.start_ticks;
}

}  // namespace braid::vgpu::nccl
