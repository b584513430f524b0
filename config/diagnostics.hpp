// What braid says: one line a message, to stderr, in the shape NCCL's users know:
//
//   host:pid:tid [dev] BRAID INFO Tuner: …
//
// BRAID_DEBUG sets the level, BRAID_DEBUG_SUBSYS which parts write info and trace lines. All
// functions may be called from any thread, never allocate, keep errno, and cost one atomic load
// when filtered. They are not safe in a signal handler.
#pragma once

#include <atomic>
#include <cstdint>

#include "config/environment.hpp"

namespace braid::config {

/// One message on its way out.
struct LogMessage {
  DebugLevel level;
  Subsystem subsystem;
  const char* component;
  const char* text;  // the message alone
  const char* line;  // the whole line, prefix included, without the newline
};

/// Where messages go instead of stderr. `write` may be called from several threads at once and must
/// not log. The object must outlive its use.
struct LogSink {
  void (*write)(void* user, const LogMessage& message);
  void* user;
};

/// Sends messages to `sink`, null for stderr. Returns the sink before.
const LogSink* set_log_sink(const LogSink* sink);

/// Replaces the filter that BRAID_DEBUG and BRAID_DEBUG_SUBSYS give.
void set_log_filter(DebugLevel level, uint32_t subsystems);

/// Sets the function that names the calling thread's CUDA device for the "[dev]" field (negative:
/// unknown, shown as "-"). It runs only for messages that are written.
void set_log_device(int (*device)());

/// Whether a message would be written. Warnings pass every subsystem filter.
bool log_enabled(DebugLevel level, Subsystem subsystem);

/// Writes one message (printf format) if the filter lets it pass. Longer ones are cut at about
/// 1,900 bytes; control characters, which could forge a line, become spaces.
void log_message(DebugLevel level, Subsystem subsystem, const char* component, const char* format,
                 ...) __attribute__((format(printf, 4, 5)));

/// Lets the first `count` through. A static of the place that logs.
class LogLimit {
 public:
  constexpr explicit LogLimit(uint32_t count) : left_(count) {}

  /// True for the first `count` calls, from whatever threads.
  bool take() {
    uint32_t left = left_.load(std::memory_order_relaxed);
    while (left > 0) {
      if (left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  std::atomic<uint32_t> left_;
};

}  // namespace braid::config

/// BRAID_LOG(kInfo, Tuner, "Tuner", "%d rules", n): the arguments are evaluated only if it is
/// written.
#define BRAID_LOG(level, subsystem, component, ...)                                              \
  do {                                                                                           \
    if (::braid::config::log_enabled(::braid::config::DebugLevel::level,                         \
                                     ::braid::config::kSubsys##subsystem)) {                     \
      ::braid::config::log_message(::braid::config::DebugLevel::level,                           \
                                   ::braid::config::kSubsys##subsystem, component, __VA_ARGS__); \
    }                                                                                            \
  } while (false)

#define BRAID_WARN(subsystem, component, ...) BRAID_LOG(kWarn, subsystem, component, __VA_ARGS__)
#define BRAID_INFO(subsystem, component, ...) BRAID_LOG(kInfo, subsystem, component, __VA_ARGS__)
#define BRAID_TRACE(subsystem, component, ...) BRAID_LOG(kTrace, subsystem, component, __VA_ARGS__)

/// The first `count` messages of this place in the source; filtered ones do not count.
#define BRAID_LOG_FIRST(count, level, subsystem, component, ...)                                 \
  do {                                                                                           \
    static ::braid::config::LogLimit braid_log_limit(count);                                     \
    if (::braid::config::log_enabled(::braid::config::DebugLevel::level,                         \
                                     ::braid::config::kSubsys##subsystem) &&                     \
        braid_log_limit.take()) {                                                                \
      ::braid::config::log_message(::braid::config::DebugLevel::level,                           \
                                   ::braid::config::kSubsys##subsystem, component, __VA_ARGS__); \
    }                                                                                            \
  } while (false)

#define BRAID_LOG_ONCE(level, subsystem, component, ...) \
  BRAID_LOG_FIRST(1, level, subsystem, component, __VA_ARGS__)
