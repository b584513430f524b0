#include "interposer/metrics.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>

#include "config/diagnostics.hpp"
#include "config/environment.hpp"
#include "interposer/execute/record_calls.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {
namespace {

constexpr int64_t kPeriodSeconds = 30;

std::string metrics_text() {
  const RewriteCounts counts = rewrite_counts();
  std::string text =
      "# HELP braid_collectives_split_total Collectives made in parts.\n"
      "# TYPE braid_collectives_split_total counter\n"
      "braid_collectives_split_total " +
      std::to_string(counts.split) +
      "\n# HELP braid_collectives_early_total Collectives whose parts started early.\n"
      "# TYPE braid_collectives_early_total counter\n"
      "braid_collectives_early_total " +
      std::to_string(counts.overlapped) +
      "\n# HELP braid_refusals_total Collectives not rewritten or not started early, by reason.\n"
      "# TYPE braid_refusals_total counter\n";
  for (const auto& [reason, count] : refusals().snapshot()) {
    text += "braid_refusals_total{reason=\"" + std::string(name_of(reason)) + "\"} " +
            std::to_string(count) + "\n";
  }
  return text;
}

// One file a process: a launcher's rank, else the process id, goes before the suffix.
std::string metrics_path() {
  const std::string& path = config::environment().metrics_path;
  const char* rank = std::getenv("RANK");
  const std::string mark =
      rank != nullptr ? ".rank" + std::string(rank) : "." + std::to_string(getpid());
  const size_t dot = path.rfind(".prom");
  return dot == std::string::npos ? path + mark : path.substr(0, dot) + mark + path.substr(dot);
}

}  // namespace

void write_metrics() {
  if (config::environment().metrics_path.empty()) {
    return;
  }
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  const std::string path = metrics_path();
  const std::string part = path + ".part";
  const std::string text = metrics_text();
  const int descriptor =
      open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  const bool written = descriptor >= 0 && write(descriptor, text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  if (descriptor >= 0) {
    close(descriptor);
  }
  if (!written || std::rename(part.c_str(), path.c_str()) != 0) {
    BRAID_LOG_ONCE(kWarn, Init, "metrics", "%s cannot be written: %m", path.c_str());
  }
}

void refresh_metrics() {
  static std::atomic<uint32_t> calls{0};
  static std::atomic<int64_t> last{0};
  if (calls.fetch_add(1, std::memory_order_relaxed) % 256 != 0 ||
      config::environment().metrics_path.empty()) {
    return;
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  int64_t previous = last.load(std::memory_order_relaxed);
  if (now.tv_sec - previous >= kPeriodSeconds &&
      last.compare_exchange_strong(previous, now.tv_sec, std::memory_order_relaxed)) {
    write_metrics();
  }
}

}  // namespace braid::interposer
