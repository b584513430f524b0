// NCCL_* settings: one place that looks them up, through the env plugin where one is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace braid::vgpu::nccl {

/// The value of an NCCL_* variable, or null. Asks the env plugin (ncclEnvPlugin_v1, found through
/// NCCL_ENV_PLUGIN) and nothing else when one is loaded; otherwise the environment, then the files
/// NCCL_CONF_FILE (or ~/.nccl.conf) and /etc/nccl.conf. NCCL_CONF_FILE and NCCL_ENV_PLUGIN
/// themselves come from the environment. The pointer is valid until the same name is asked again.
const char* find_setting(const char* name);

/// As find_setting, copied; "" when unset.
std::string read_setting(const char* name);

/// An integer that NCCL reads at its first use and keeps for the life of the process. A value that
/// is no number is warned about and counts as unset.
int64_t cached_number(const char* name, int64_t default_value);

/// The same for a text.
const std::string& cached_text(const char* name);

}  // namespace braid::vgpu::nccl
