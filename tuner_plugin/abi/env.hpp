// NCCL's environment plugin interface, versions 1 (2.28.7) and 2 (2.30).
//
// NCCL asks the plugin for every NCCL_* variable except NCCL_CONF_FILE and NCCL_ENV_PLUGIN. It is
// not told which communicator asks.
#pragma once

#include "tuner_plugin/abi/common.hpp"

namespace braid::abi {

inline constexpr const char* kEnvSymbolV1 = "ncclEnvPlugin_v1";
inline constexpr const char* kEnvSymbolV2 = "ncclEnvPlugin_v2";

/// Version 1. `get_env` returns null for an unset variable; a returned text must stay valid until
/// finalize, or until the same name is asked for again.
struct EnvV1 {
  const char* name;
  Result (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix);
  Result (*finalize)();
  const char* (*get_env)(const char* name);
};

/// Version 2: init is also handed NCCL's logger.
struct EnvV2 {
  const char* name;
  Result (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix, Logger logger);
  Result (*finalize)();
  const char* (*get_env)(const char* name);
};

}  // namespace braid::abi
