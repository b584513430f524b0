#include "model/path_type.hpp"

#include <iterator>

namespace braid::model {
namespace {

constexpr const char* kNames[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                  "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

}  // namespace

const char* name_of(PathType type) { return kNames[static_cast<int>(type)]; }

std::optional<PathType> path_type_from(const std::string& name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) {
      return static_cast<PathType>(i);
    }
  }
  return std::nullopt;
}

}  // namespace braid::model
