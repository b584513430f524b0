#include "model/bus_id.hpp"

#include <charconv>
#include <string_view>

namespace braid::model {
namespace {

/// All of `digits` as a hexadecimal number of `least` to `most` digits.
std::optional<uint64_t> parse_hex(std::string_view digits, size_t least, size_t most) {
  if (digits.size() < least || digits.size() > most) {
    return std::nullopt;
  }
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<uint64_t> parse_bus_id(const std::string& text) {
  std::string_view rest = text;
  const size_t dot = rest.rfind('.');
  if (dot == std::string_view::npos) {
    return std::nullopt;
  }
  const auto function = parse_hex(rest.substr(dot + 1), 1, 1);
  rest = rest.substr(0, dot);
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto device = parse_hex(rest.substr(colon + 1), 2, 2);
  rest = rest.substr(0, colon);
  std::optional<uint64_t> domain = 0;
  if (const size_t split = rest.rfind(':'); split != std::string_view::npos) {
    domain = parse_hex(rest.substr(0, split), 1, 8);
    rest = rest.substr(split + 1);
  }
  const auto bus = parse_hex(rest, 2, 2);
  if (!function || !device || !domain || !bus) {
    return std::nullopt;
  }
  return *domain << 20 | *bus << 12 | *device << 4 | *function;
}

}  // namespace braid::model
