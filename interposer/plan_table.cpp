#include "interposer/plan_table.hpp"

#include <algorithm>

namespace braid::interposer {

std::vector<uint64_t> equal_boundaries(uint64_t rows, uint64_t row_elements, uint32_t parts) {
  const uint64_t wanted = std::clamp<uint64_t>(parts, 1, std::max<uint64_t>(rows, 1));
  std::vector<uint64_t> boundaries{0};
  for (uint64_t j = 1; j <= wanted; ++j) {
    boundaries.push_back(rows * j / wanted * row_elements);
  }
  return boundaries;
}

}  // namespace braid::interposer
