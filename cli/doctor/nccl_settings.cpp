#include "cli/doctor/nccl_settings.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

namespace braid::cli {
namespace {

constexpr const char* kSystemFile = "/etc/nccl.conf";

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string user_file(const EnvironmentBlock& environment) {
  if (const auto named = environment.get("NCCL_CONF_FILE"); named && !named->empty()) {
    return *named;
  }
  const auto home = environment.get("HOME");
  return home && !home->empty() ? *home + "/.nccl.conf" : "";
}

}  // namespace

std::vector<NcclSetting> parse_nccl_conf(const std::string& text, const std::string& path) {
  std::vector<NcclSetting> settings;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    const size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos || equals == 0) {
      continue;
    }
    settings.push_back(
        {line.substr(0, equals), line.substr(equals + 1), fmt::format("{}:{}", path, number)});
  }
  return settings;
}

std::vector<NcclSetting> read_nccl_settings_in_effect(const EnvironmentBlock& environment) {
  std::map<std::string, NcclSetting> found;
  for (const std::string& path : {std::string(kSystemFile), user_file(environment)}) {
    if (path.empty()) {
      continue;
    }
    // Within one file the first mention stays: NCCL sets a variable only where it is not set yet.
    std::map<std::string, NcclSetting> of_file;
    for (NcclSetting& setting : parse_nccl_conf(read_text(path), path)) {
      of_file.emplace(setting.name, setting);
    }
    for (auto& [name, setting] : of_file) {
      found[name] = setting;
    }
  }
  for (const auto& [name, value] : environment.values()) {
    if (name.starts_with("NCCL_")) {
      found[name] = {name, value, "environment"};
    }
  }
  std::vector<NcclSetting> settings;
  for (auto& [name, setting] : found) {
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::optional<std::string> find_nccl_setting(const EnvironmentBlock& environment,
                                             const std::string& name) {
  for (const NcclSetting& setting : read_nccl_settings_in_effect(environment)) {
    if (setting.name == name) {
      return setting.value;
    }
  }
  return std::nullopt;
}

}  // namespace braid::cli
