// The agreed plan: which collectives are made in parts, and where they are cut.
#pragma once

#include <cstdint>
#include <vector>

namespace braid::interposer {

/// What all ranks of a communicator know alike of a collective (design, rule 2).
struct Signature {
  uint32_t function = 0;  // model::trace::CollectiveFunction
  uint32_t type = 0;      // ncclDataType_t
  uint32_t op = 0;        // ncclRedOp_t; kUserOp for any made by the program
  int32_t root = 0;
  uint64_t count = 0;
  bool operator==(const Signature&) const = default;
};
inline constexpr uint32_t kUserOp = 0xff;

/// A collective that is made in parts: part j covers elements [boundaries[j], boundaries[j+1]).
struct PlanEntry {
  Signature signature;
  std::vector<uint64_t> boundaries;  // front 0, back signature.count, strictly growing

  uint32_t parts() const { return static_cast<uint32_t>(boundaries.size()) - 1; }
};

/// The plan for collectives number `from` up to but not including `to` of a communicator.
struct PlanRange {
  uint64_t from = 0;
  uint64_t to = 0;
  std::vector<PlanEntry> entries;

  /// The entry for a signature, nullptr: one call, as it stands.
  const PlanEntry* find(const Signature& signature) const {
    for (const PlanEntry& entry : entries) {
      if (entry.signature == signature) {
        return &entry;
      }
    }
    return nullptr;
  }
};

/// Where the range that starts at `from` ends: short while there is much to learn, 256 in the long
/// run. Decided by the coordinator alone and told to the others.
inline uint64_t end_of_range(uint64_t from) {
  const uint64_t length = from / 2 < 4 ? 4 : from / 2;
  return from + (length > 256 ? 256 : length);
}

/// Cuts `rows` rows of `row_elements` elements into parts of (nearly) equal numbers of rows.
std::vector<uint64_t> equal_boundaries(uint64_t rows, uint64_t row_elements, uint32_t parts);

}  // namespace braid::interposer
