// NCCL settings in effect: the environment, and the configuration files NCCL itself reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/launch/environment_block.hpp"

namespace braid::cli {

/// One NCCL_* setting and where it comes from ("environment", "/etc/nccl.conf:3").
struct NcclSetting {
  std::string name, value, source;
};

/// Parses the lines of a configuration file as NCCL does: NAME=VALUE, # starts a comment line.
std::vector<NcclSetting> parse_nccl_conf(const std::string& text, const std::string& path);

/// All NCCL_* settings. A variable of the environment wins over ~/.nccl.conf (or the file that
/// NCCL_CONF_FILE names), which wins over /etc/nccl.conf. Sorted by name.
std::vector<NcclSetting> read_nccl_settings_in_effect(const EnvironmentBlock& environment);

/// One setting's value, from whichever source wins.
std::optional<std::string> find_nccl_setting(const EnvironmentBlock& environment,
                                             const std::string& name);

}  // namespace braid::cli
