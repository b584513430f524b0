// What a process sees once it runs under a given environment: libraries, GPUs, symbol bindings.
//
// braid starts itself for this (`braid __probe`), because only a fresh process shows what
// LD_PRELOAD and LD_LIBRARY_PATH do, and because a broken library must not take the doctor down
// with it.
#pragma once

#include "cli/json_output.hpp"
#include "cli/launch/environment_block.hpp"
#include "config/result.hpp"

namespace braid::cli {

/// {"gpus":[…],"driver","gpu_reason","libraries":[{"name","path","version","error"}],
///  "bindings":[{"symbol","library"}],"tuner":{"path","versions":[…],"error"}} of this process.
Json probe_this_process(const std::string& tuner_plugin);

/// Runs `program __probe` under `environment` and reads its answer. Errors: it could not be
/// started, crashed, or answered with something else; what it wrote to stderr is part of the text.
Result<Json> probe_process(const std::string& program, const std::string& tuner_plugin,
                           const EnvironmentBlock& environment);

}  // namespace braid::cli
