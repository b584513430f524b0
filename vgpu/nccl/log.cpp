#include "vgpu/nccl/log.hpp"

#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr size_t kTextBytes = 1024;

struct LogState {
  std::mutex mutex;
  bool ready = false;
  int level = abi::kLogNone;
  unsigned long subsystems = 0;
  FILE* file = nullptr;
  std::string host;
  char last_error[kTextBytes] = "";
};

/// Never destroyed: plugins and executor threads may log while the process ends.
LogState& state() {
  static LogState* const log = new LogState;
  return *log;
}

struct SubsystemName {
  const char* name;
  unsigned long bits;
};
constexpr SubsystemName kSubsystems[] = {
    {"INIT", 0x1},         {"COLL", 0x2},   {"P2P", 0x4},        {"SHM", 0x8},
    {"NET", 0x10},         {"GRAPH", 0x20}, {"TUNING", 0x40},    {"ENV", 0x80},
    {"ALLOC", 0x100},      {"CALL", 0x200}, {"PROXY", 0x400},    {"NVLS", 0x800},
    {"BOOTSTRAP", 0x1000}, {"REG", 0x2000}, {"PROFILE", 0x4000}, {"RAS", 0x8000},
    {"ALL", ~0ul},
};

int level_from(const char* text) {
  constexpr SubsystemName kLevels[] = {{"VERSION", abi::kLogVersion},
                                       {"WARN", abi::kLogWarn},
                                       {"INFO", abi::kLogInfo},
                                       {"ABORT", abi::kLogAbort},
                                       {"TRACE", abi::kLogTrace}};
  for (const auto& level : kLevels) {
    if (text != nullptr && strcasecmp(text, level.name) == 0) {
      return static_cast<int>(level.bits);
    }
  }
  return abi::kLogNone;
}

/// "INIT,COLL" adds to nothing; "^COLL" takes away from all.
unsigned long subsystems_from(const char* text) {
  if (text == nullptr) {
    return 0x1 | 0x80 | 0x1000;
  }
  const bool inverted = *text == '^';
  std::string list = inverted ? text + 1 : text;
  unsigned long bits = 0;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    for (const auto& entry : kSubsystems) {
      if (strcasecmp(word.c_str(), entry.name) == 0) {
        bits |= entry.bits;
      }
    }
    begin = end + 1;
  }
  return inverted ? ~bits : bits;
}

/// NCCL_DEBUG_FILE with %h (host) and %p (process) replaced.
std::string expand_path(const char* pattern, const std::string& host) {
  std::string path;
  for (const char* c = pattern; *c != '\0'; ++c) {
    if (*c != '%' || c[1] == '\0') {
      path += *c;
      continue;
    }
    ++c;
    if (*c == 'h') {
      path += host;
    } else if (*c == 'p') {
      path += std::to_string(getpid());
    } else if (*c == '%') {
      path += '%';
    } else {
      path += std::string("%") + *c;
    }
  }
  return path;
}

/// Logging may start before any plugin is loaded, so it asks the process's environment itself, as
/// NCCL does.
void prepare(LogState& log) {
  if (log.ready) {
    return;
  }
  log.ready = true;
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  if (char* dot = std::strchr(host, '.')) {
    *dot = '\0';
  }
  log.host = host;
  log.level = level_from(std::getenv("NCCL_DEBUG"));
  log.subsystems = subsystems_from(std::getenv("NCCL_DEBUG_SUBSYS"));
  const char* file = std::getenv("NCCL_DEBUG_FILE");
  if (file != nullptr && log.level > abi::kLogVersion && log.file == nullptr) {
    log.file = std::fopen(expand_path(file, log.host).c_str(), "we");
  }
}

void write_line(abi::LogLevel level, unsigned long subsystems, const char* file, int line,
                const char* format, va_list arguments) {
  char text[kTextBytes];
  std::vsnprintf(text, sizeof(text), format, arguments);
  const int device = current_device();
  LogState& log = state();
  std::lock_guard lock(log.mutex);
  if (level == abi::kLogWarn) {
    std::memcpy(log.last_error, text, sizeof(text));
  }
  prepare(log);
  if (log.level < level || ((log.subsystems & subsystems) == 0 && level != abi::kLogWarn)) {
    return;
  }
  FILE* out = log.file != nullptr ? log.file : stdout;
  const long thread = syscall(SYS_gettid);
  if (level == abi::kLogWarn) {
    const char* base = std::strrchr(file, '/');
    std::fprintf(out, "\n%s:%d:%ld [%d] %s:%d NCCL WARN %s\n", log.host.c_str(), getpid(), thread,
                 device, base != nullptr ? base + 1 : file, line, text);
  } else if (level == abi::kLogVersion && log.level < abi::kLogInfo) {
    std::fprintf(out, "%s\n", text);
  } else {
    std::fprintf(out, "%s:%d:%ld [%d] NCCL INFO %s\n", log.host.c_str(), getpid(), thread, device,
                 text);
  }
  std::fflush(out);
}

}  // namespace

void write_log(abi::LogLevel level, unsigned long subsystems, const char* file, int line,
               const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(level, subsystems, file != nullptr ? file : "", line, format, arguments);
  va_end(arguments);
}

ncclResult_t reject(ncclResult_t code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(abi::kLogWarn, abi::kLogAll, __FILE__, __LINE__, format, arguments);
  va_end(arguments);
  return code;
}

const char* last_error() {
  thread_local char text[kTextBytes];
  LogState& log = state();
  std::lock_guard lock(log.mutex);
  std::memcpy(text, log.last_error, sizeof(text));
  return text;
}

void reset_log() {
  LogState& log = state();
  std::lock_guard lock(log.mutex);
  log.ready = false;
}

}  // namespace braid::vgpu::nccl
