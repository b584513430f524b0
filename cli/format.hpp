// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace braid::cli {

/// 67108864 → "64MiB", 1536 → "1.5KiB", 100 → "100B".
std::string format_bytes(uint64_t bytes);
/// 12.3 → "12.3 µs", 12345 → "12.35 ms", 2.5e6 → "2.500 s".
std::string format_time(double microseconds);
/// 1.2345 → "1.234×".
std::string format_speedup(double speedup);
/// "[1.10, 1.31]"
std::string format_interval(double low, double high);
/// "a, b and c"
std::string join_words(const std::vector<std::string>& words);
/// Words as a shell would need them, for messages.
std::string quote_command(const std::vector<std::string>& words);

}  // namespace braid::cli
