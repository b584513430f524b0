// "Did you mean …?"
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid::config {

/// Number of single-character changes that turn `a` into `b`: insert, delete, replace, or swap two
/// neighbours. Case is ignored.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `text`, the first of equals; none when even that one differs in more
/// than a third of the longer word (but two changes are always allowed, one for words under four
/// letters).
std::optional<std::string> closest_match(std::string_view text,
                                         const std::vector<std::string>& candidates);

/// " (did you mean 'parts'?)", or "" when nothing is near.
std::string suggestion(std::string_view text, const std::vector<std::string>& candidates);

/// "a, b or c".
std::string join_or(const std::vector<std::string>& words);

}  // namespace braid::config
