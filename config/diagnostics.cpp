#include "config/diagnostics.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace braid::config {
namespace {

constexpr size_t kPrefixBytes = 160;
constexpr size_t kLineBytes = 2048;  // under PIPE_BUF, so lines of several processes do not mix

// Level in the high half, subsystems in the low half; kUnread until somebody asks.
constexpr uint64_t kUnread = ~0ull;
std::atomic<uint64_t> filter{kUnread};
std::atomic<const LogSink*> current_sink{nullptr};
std::atomic<int (*)()> device_query{nullptr};

uint64_t pack_filter(DebugLevel level, uint32_t subsystems) {
  return static_cast<uint64_t>(level) << 32 | subsystems;
}

uint64_t load_filter() {
  const uint64_t packed = filter.load(std::memory_order_relaxed);
  if (packed != kUnread) {
    return packed;
  }
  const Environment& env = environment();
  uint64_t unread = kUnread;
  filter.compare_exchange_strong(unread, pack_filter(env.debug, env.debug_subsystems));
  return filter.load(std::memory_order_relaxed);
}

const char* level_name(DebugLevel level) {
  switch (level) {
    case DebugLevel::kWarn:
      return "WARN";
    case DebugLevel::kInfo:
      return "INFO";
    case DebugLevel::kTrace:
      return "TRACE";
    case DebugLevel::kNone:
      break;
  }
  return "NONE";
}

// Asked anew for each line: a process may fork, and lines are rare.
size_t write_prefix(char* out, size_t size, DebugLevel level, const char* component) {
  char host[64] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) {
    std::strcpy(host, "?");
  }
  host[std::strcspn(host, ".")] = '\0';
  char device[16] = "-";
  if (int (*query)() = device_query.load(std::memory_order_acquire); query != nullptr) {
    if (const int ordinal = query(); ordinal >= 0) {
      std::snprintf(device, sizeof(device), "%d", ordinal);
    }
  }
  const int length = std::snprintf(
      out, size, "%s:%ld:%ld [%s] BRAID %s %.40s: ", host, static_cast<long>(getpid()),
      static_cast<long>(syscall(SYS_gettid)), device, level_name(level), component);
  return std::min(static_cast<size_t>(std::max(length, 0)), size - 1);
}

void write_line(const char* line, size_t length) {
  while (length > 0) {
    const ssize_t written = ::write(STDERR_FILENO, line, length);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return;  // nowhere left to say so
    }
    line += written;
    length -= static_cast<size_t>(written);
  }
}

}  // namespace

const LogSink* set_log_sink(const LogSink* sink) {
  return current_sink.exchange(sink, std::memory_order_acq_rel);
}

void set_log_filter(DebugLevel level, uint32_t subsystems) {
  filter.store(pack_filter(level, subsystems), std::memory_order_relaxed);
}

void set_log_device(int (*device)()) { device_query.store(device, std::memory_order_release); }

bool log_enabled(DebugLevel level, Subsystem subsystem) {
  const uint64_t packed = load_filter();
  if (level == DebugLevel::kNone || static_cast<uint64_t>(level) > packed >> 32) {
    return false;
  }
  return level == DebugLevel::kWarn || (packed & static_cast<uint32_t>(subsystem)) != 0;
}

void log_message(DebugLevel level, Subsystem subsystem, const char* component, const char* format,
                 ...) {
  if (!log_enabled(level, subsystem)) {
    return;
  }
  const int saved_errno = errno;
  char line[kLineBytes];
  const size_t prefix = write_prefix(line, kPrefixBytes, level, component);
  constexpr size_t kRoom = kLineBytes - 1;  // the last byte is the newline's
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line + prefix, kRoom - prefix, format, arguments);
  va_end(arguments);
  if (wanted < 0) {
    std::snprintf(line + prefix, kRoom - prefix, "(message could not be formatted)");
  } else if (static_cast<size_t>(wanted) >= kRoom - prefix) {
    std::memcpy(line + kRoom - 4, "...", 4);
  }
  const size_t length = std::strlen(line);
  std::replace_if(
      line + prefix, line + length,
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (const LogSink* sink = current_sink.load(std::memory_order_acquire); sink != nullptr) {
    sink->write(sink->user, LogMessage{level, subsystem, component, line + prefix, line});
  } else {
    line[length] = '\n';
    write_line(line, length + 1);
  }
  errno = saved_errno;
}

}  // namespace braid::config
