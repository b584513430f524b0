// NCCL_ALGO and NCCL_PROTO: "ring,tree", "^LL128", "ring;allreduce:tree;allgather:^nvls".
#pragma once

#include <array>
#include <string>
#include <vector>

#include "config/policy.hpp"
#include "config/result.hpp"

namespace braid::model::stock {

/// What a setting says of one element (an algorithm or a protocol) for one collective.
enum class Selected { kDefault, kOn, kOff };

using Selection = std::array<std::vector<Selected>, config::kCollectiveCount>;

/// Parses the value of the variable `name`. Entries are separated by ';'; each may start with a
/// collective and ':' (only the first may go without), then lists elements separated by ',', or
/// after
/// '^' those to leave out. Case does not matter. Empty text: all kDefault.
Result<Selection> parse_selection(const std::string& name, const std::string& text,
                                  const std::vector<std::string>& elements);

}  // namespace braid::model::stock
