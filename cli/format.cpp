#include "cli/format.hpp"

#include <fmt/format.h>

#include <iterator>

namespace braid::cli {

std::string format_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (value == static_cast<double>(static_cast<uint64_t>(value))) {
    return fmt::format("{}{}", static_cast<uint64_t>(value), kUnits[unit]);
  }
  return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : 1, kUnits[unit]);
}

std::string format_time(double microseconds) {
  if (microseconds < 1000) {
    return fmt::format("{:.1f} µs", microseconds);
  }
  if (microseconds < 1e6) {
    return fmt::format("{:.2f} ms", microseconds / 1e3);
  }
  return fmt::format("{:.3f} s", microseconds / 1e6);
}

std::string format_speedup(double speedup) { return fmt::format("{:.3f}×", speedup); }

std::string format_interval(double low, double high) {
  return fmt::format("[{:.3f}, {:.3f}]", low, high);
}

std::string join_words(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    out += i == 0 ? "" : i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  return out;
}

std::string quote_command(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const bool plain =
        !word.empty() &&
        word.find_first_not_of(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%") ==
            std::string::npos;
    if (!out.empty()) {
      out += ' ';
    }
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) {
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    out += '\'';
  }
  return out;
}

}  // namespace braid::cli
