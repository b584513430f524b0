#include "model/stock/selection.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace braid::model::stock {
namespace {

using config::Collective;

constexpr std::pair<const char*, Collective> kCollectives[] = {
    {"broadcast", Collective::kBroadcast}, {"reduce", Collective::kReduce},
    {"allgather", Collective::kAllGather}, {"reducescatter", Collective::kReduceScatter},
    {"allreduce", Collective::kAllReduce},
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The non-empty pieces between separators.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  std::string piece;
  for (const char c : text + separator) {
    if (c != separator) {
      piece += c;
    } else if (!piece.empty()) {
      pieces.push_back(std::move(piece));
      piece.clear();
    }
  }
  return pieces;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

}  // namespace

Result<Selection> parse_selection(const std::string& name, const std::string& text,
                                  const std::vector<std::string>& elements) {
  Selection selection;
  selection.fill(std::vector<Selected>(elements.size(), Selected::kDefault));
  const auto error = [&](const std::string& what) { return fail(name + "=" + text, what); };

  bool first = true;
  for (const auto& entry : split(text, ';')) {
    const auto parts = split(entry, ':');
    if (parts.empty()) {
      return error("an entry is empty");
    }
    if (parts.size() == 1 && !first) {
      return error("'" + entry + "': only the first entry may go without a collective and ':'");
    }
    first = false;
    std::string list = parts.size() == 1 ? parts[0] : parts[1];
    const bool without = list[0] == '^';
    std::vector<bool> named(elements.size(), false);
    for (const auto& word : split(without ? list.substr(1) : list, ',')) {
      const auto found =
          std::find_if(elements.begin(), elements.end(),
                       [&](const std::string& known) { return lower(known) == lower(word); });
      if (found == elements.end()) {
        return error("'" + word + "' is unknown; expected one of " + join(elements));
      }
      named[found - elements.begin()] = true;
    }
    bool known_collective = false;
    for (const auto& [collective_name, collective] : kCollectives) {
      if (parts.size() > 1 && lower(parts[0]) != collective_name) {
        continue;
      }
      known_collective = true;
      auto& row = selection[static_cast<size_t>(collective)];
      for (size_t e = 0; e < elements.size(); ++e) {
        row[e] = named[e] != without ? Selected::kOn : Selected::kOff;
      }
    }
    if (!known_collective) {
      return error("'" + parts[0] +
                   "' is no collective; expected Broadcast, Reduce, AllGather, ReduceScatter or "
                   "AllReduce");
    }
  }
  return selection;
}

}  // namespace braid::model::stock
