// parse_interval and format_interval (config/policy.hpp).
#include <limits>

#include "config/environment.hpp"
#include "config/policy.hpp"

namespace braid::config {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

std::string trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) {
    return "";
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

tl::unexpected<Error> wrong_interval(const std::string& text, const std::string& why) {
  return fail("", "'" + text + "' is not an interval: " + why +
                      "expected for example \"[1MiB, inf)\", \"(0, 4096]\" or \"[8, 8]\"");
}

}  // namespace

Result<Interval> parse_interval(const std::string& text) {
  const std::string body = trim(text);
  if (body.size() < 2 || (body.front() != '[' && body.front() != '(') ||
      (body.back() != ']' && body.back() != ')')) {
    return wrong_interval(text, "it must start with [ or ( and end with ] or ); ");
  }
  const std::string inside = body.substr(1, body.size() - 2);
  const size_t comma = inside.find(',');
  if (comma == std::string::npos || inside.find(',', comma + 1) != std::string::npos) {
    return wrong_interval(text, "it must hold two ends with one comma between; ");
  }
  const std::string low_text = trim(inside.substr(0, comma));
  const std::string high_text = trim(inside.substr(comma + 1));

  const auto low = parse_size(low_text);
  if (!low) {
    return wrong_interval(text, "the lower end: " + low.error().what + "; ");
  }
  Interval interval;
  interval.low = *low;
  interval.low_open = body.front() == '(';
  if (high_text != "inf") {
    const auto high = parse_size(high_text);
    if (!high) {
      return wrong_interval(text, "the upper end: " + high.error().what + ", or inf; ");
    }
    interval.high = *high;
    interval.high_open = body.back() == ')';
  }
  if (!inclusive_bounds(interval)) {
    return wrong_interval(text, "no number lies in it; ");
  }
  return interval;
}

std::optional<Bounds> inclusive_bounds(const Interval& interval) {
  if ((interval.low_open && interval.low == kMost) || (interval.high_open && interval.high == 0)) {
    return std::nullopt;
  }
  const Bounds bounds{interval.low + (interval.low_open ? 1 : 0),
                      interval.high - (interval.high_open ? 1 : 0)};
  if (bounds.first > bounds.last) {
    return std::nullopt;
  }
  return bounds;
}

std::string format_interval(const Interval& interval) {
  std::string out = interval.low_open ? "(" : "[";
  out += format_size(interval.low) + ", ";
  if (interval.high == kMost && !interval.high_open) {
    return out + "inf)";
  }
  return out + format_size(interval.high) + (interval.high_open ? ")" : "]");
}

}  // namespace braid::config
