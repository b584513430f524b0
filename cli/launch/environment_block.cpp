#include "cli/launch/environment_block.hpp"

#include <unistd.h>

#include <cstring>

namespace braid::cli {

EnvironmentBlock::EnvironmentBlock(const char* const* block) {
  for (; block != nullptr && *block != nullptr; ++block) {
    if (const char* equals = std::strchr(*block, '=')) {
      values_.emplace(std::string(*block, equals), equals + 1);
    }
  }
}

EnvironmentBlock EnvironmentBlock::of_process() { return EnvironmentBlock(environ); }

std::optional<std::string> EnvironmentBlock::get(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::nullopt : std::optional(it->second);
}

std::string EnvironmentBlock::get_or(const std::string& name, const std::string& otherwise) const {
  return get(name).value_or(otherwise);
}

void EnvironmentBlock::prepend(const std::string& name, const std::string& entry) {
  std::string list = entry;
  const std::string old = get_or(name, "");
  size_t begin = 0;
  while (begin < old.size()) {
    const size_t end = std::min(old.find(':', begin), old.size());
    const std::string word = old.substr(begin, end - begin);
    if (!word.empty() && word != entry) {
      list += ":" + word;
    }
    begin = end + 1;
  }
  set(name, list);
}

std::vector<std::string> EnvironmentBlock::entries() const {
  std::vector<std::string> entries;
  for (const auto& [name, value] : values_) {
    entries.push_back(name + "=" + value);
  }
  return entries;
}

}  // namespace braid::cli
