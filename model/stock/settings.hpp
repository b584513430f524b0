// Values of NCCL's variables, parsed.
#pragma once

#include <string>

#include "config/result.hpp"
#include "model/path_type.hpp"

namespace braid::model::stock {

/// NCCL_P2P_LEVEL: a name from LOC to SYS, or one of the old numbers 0 to 5. Empty: `fallback`.
Result<PathType> parse_p2p_level(const std::string& text, PathType fallback);

}  // namespace braid::model::stock
