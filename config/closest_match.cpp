#include "config/closest_match.hpp"

#include <algorithm>
#include <utility>

namespace braid::config {
namespace {

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Words longer than this are not names anybody mistyped; comparing them would only cost time.
constexpr size_t kLongestWord = 64;

size_t allowed_distance(size_t length) {
  if (length < 4) {
    return 1;
  }
  return std::max<size_t>(2, length / 3);
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows of the dynamic programme are enough for swaps.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
          to_lower(a[i - 2]) == to_lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> closest_match(std::string_view text,
                                         const std::vector<std::string>& candidates) {
  if (text.empty() || text.size() > kLongestWord) {
    return std::nullopt;
  }
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(text, candidate);
    if (distance <= allowed_distance(std::max(text.size(), candidate.size())) &&
        (best == nullptr || distance < best_distance)) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return *best;
}

std::string suggestion(std::string_view text, const std::vector<std::string>& candidates) {
  const auto match = closest_match(text, candidates);
  return match ? " (did you mean '" + *match + "'?)" : "";
}

std::string join_or(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) {
      out += i + 1 == words.size() ? " or " : ", ";
    }
    out += words[i];
  }
  return out;
}

}  // namespace braid::config
