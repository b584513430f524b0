// The environment a job is started with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace braid::cli {

/// NAME=VALUE pairs. Names are unique and kept in order of name.
class EnvironmentBlock {
 public:
  EnvironmentBlock() = default;
  /// Copies a block as `environ` has it.
  explicit EnvironmentBlock(const char* const* block);
  /// This process's own environment.
  static EnvironmentBlock of_process();

  void set(const std::string& name, const std::string& value) { values_[name] = value; }
  void unset(const std::string& name) { values_.erase(name); }
  std::optional<std::string> get(const std::string& name) const;
  std::string get_or(const std::string& name, const std::string& otherwise) const;

  /// Puts `entry` in front of a colon list, and takes a later mention of it out.
  void prepend(const std::string& name, const std::string& entry);

  /// "NAME=VALUE" strings.
  std::vector<std::string> entries() const;
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace braid::cli
