// parse_size and format_size (config/environment.hpp): amounts of memory as people write them.
#include <array>
#include <cctype>
#include <limits>
#include <optional>

#include "config/environment.hpp"

namespace braid::config {
namespace {

constexpr const char* kExpected =
    "expected bytes such as 4096, 64KiB, 64MiB or 1.5GB (K, M, G, T alone are binary)";

// A fraction needs no more digits than this: 10^18 still fits 64 bits.
constexpr int kMostFractionDigits = 18;

struct Unit {
  const char* name;
  uint64_t bytes;
};

constexpr std::array kUnits = {
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"k", 1ull << 10},
    Unit{"kib", 1ull << 10},
    Unit{"kb", 1000ull},
    Unit{"m", 1ull << 20},
    Unit{"mib", 1ull << 20},
    Unit{"mb", 1000ull * 1000},
    Unit{"g", 1ull << 30},
    Unit{"gib", 1ull << 30},
    Unit{"gb", 1000ull * 1000 * 1000},
    Unit{"t", 1ull << 40},
    Unit{"tib", 1ull << 40},
    Unit{"tb", 1000ull * 1000 * 1000 * 1000},
};

std::optional<uint64_t> find_unit(const std::string& text) {
  std::string lower;
  for (const char c : text) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const Unit& unit : kUnits) {
    if (lower == unit.name) {
      return unit.bytes;
    }
  }
  return std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

tl::unexpected<Error> wrong_size(const std::string& text, const std::string& why) {
  return fail("", "'" + text + "' is not a size: " + why + kExpected);
}

}  // namespace

Result<uint64_t> parse_size(const std::string& text) {
  using Wide = unsigned __int128;
  constexpr Wide kMost = std::numeric_limits<uint64_t>::max();
  size_t at = 0;
  size_t digits = 0;
  Wide whole = 0;
  for (; at < text.size() && is_digit(text[at]); ++at, ++digits) {
    whole = whole * 10 + static_cast<unsigned>(text[at] - '0');
    if (whole > kMost) {
      return wrong_size(text, "it is over 2^64 - 1; ");
    }
  }
  uint64_t fraction = 0;
  uint64_t scale = 1;
  if (digits > 0 && at < text.size() && text[at] == '.') {
    size_t fraction_digits = 0;
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++fraction_digits) {
      if (fraction_digits == kMostFractionDigits) {
        return wrong_size(text, "it has more than 18 digits after the point; ");
      }
      fraction = fraction * 10 + static_cast<unsigned>(text[at] - '0');
      scale *= 10;
    }
    digits = fraction_digits;
  }
  if (digits == 0) {
    return wrong_size(text, "");
  }
  if (at < text.size() && text[at] == ' ') {
    ++at;
  }
  const auto unit = find_unit(text.substr(at));
  if (!unit) {
    return wrong_size(text, "the unit '" + text.substr(at) + "' is not known; ");
  }
  const Wide fraction_bytes = Wide{fraction} * *unit;
  if (fraction_bytes % scale != 0) {
    return wrong_size(text, "it is not a whole number of bytes; ");
  }
  // whole < 2^64 and the unit < 2^41: the product fits 128 bits.
  const Wide bytes = whole * *unit + fraction_bytes / scale;
  if (bytes > kMost) {
    return wrong_size(text, "it is over 2^64 - 1; ");
  }
  return static_cast<uint64_t>(bytes);
}

std::string format_size(uint64_t bytes) {
  constexpr std::array<Unit, 4> kBinary = {Unit{"TiB", 1ull << 40}, Unit{"GiB", 1ull << 30},
                                           Unit{"MiB", 1ull << 20}, Unit{"KiB", 1ull << 10}};
  for (const Unit& unit : kBinary) {
    if (bytes != 0 && bytes % unit.bytes == 0) {
      return std::to_string(bytes / unit.bytes) + unit.name;
    }
  }
  return std::to_string(bytes);
}

}  // namespace braid::config
