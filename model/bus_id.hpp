// PCI addresses as topology files write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace braid::model {

/// "0000:3b:00.0" → 0x3b000; the domain may have 4 to 8 digits or be absent, letters any case. Two
/// spellings of one address give one number. nullopt: not a PCI address.
std::optional<uint64_t> parse_bus_id(const std::string& text);

}  // namespace braid::model
