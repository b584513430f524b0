// NCCL's classes of path between two devices, nearest first.
#pragma once

#include <optional>
#include <string>

namespace braid::model {

enum class PathType { kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPxn, kPhb, kSys, kNet, kDis };

/// "LOC", "NVL", … as NCCL writes them in files and logs.
const char* name_of(PathType type);
std::optional<PathType> path_type_from(const std::string& name);

}  // namespace braid::model
