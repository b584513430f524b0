#include "interposer/settings.hpp"

#include <nccl.h>

#include <cstdlib>
#include <string>

#include "config/diagnostics.hpp"
#include "config/digest.hpp"
#include "config/environment.hpp"
#include "interposer/agreement/messages.hpp"
#include "interposer/call_site.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"

namespace braid::interposer {
namespace {

struct LoadedPolicy {
  std::optional<config::Policy> policy;
  std::optional<Error> error;
};

LoadedPolicy load() {
  LoadedPolicy loaded;
  const config::Environment& environment = config::environment();
  if (environment.policy_path.empty()) {
    return loaded;
  }
  Result<config::Policy> read = config::read_policy_file(environment.policy_path);
  if (read) {
    loaded.policy = std::move(*read);
    BRAID_INFO(Init, "policy", "%s: %zu rules, digest %016llx", loaded.policy->path.c_str(),
               loaded.policy->rules.size(), static_cast<unsigned long long>(loaded.policy->digest));
  } else if (environment.on_error == config::OnError::kStock) {
    BRAID_WARN(Init, "policy", "%s; BRAID_ON_ERROR=stock: the job runs as stock",
               read.error().text().c_str());
  } else {
    loaded.error = read.error();
  }
  return loaded;
}

const LoadedPolicy& loaded_policy() {
  static const auto* loaded = new LoadedPolicy(load());  // read by hooks until the very end
  return *loaded;
}

int nccl_version() {
  static RealFunction<decltype(ncclGetVersion)> real(Library::kNccl, "ncclGetVersion");
  int version = 0;
  RealCallGuard guard;
  if (auto* function = real.get(); function != nullptr) {
    function(&version);
  }
  return version;
}

}  // namespace

const config::Policy* policy() {
  const auto& loaded = loaded_policy();
  return loaded.policy ? &*loaded.policy : nullptr;
}

const std::optional<Error>& policy_error() { return loaded_policy().error; }

bool may_rewrite() {
  return config::environment().mode == config::Mode::kAuto && policy() != nullptr;
}

bool may_split_gemms() { return may_rewrite() && policy()->numerics != config::Numerics::kExact; }

uint64_t library_digest() {
  // Two builds of one version may decide differently; the build id tells them apart.
  static const uint64_t digest =
      config::Digest()
          .add(std::string_view(BRAID_VERSION))
          .add(kProtocolVersion)
          .add(find_module_identity(reinterpret_cast<const void*>(&library_digest)))
          .value();
  return digest;
}

uint64_t settings_digest() {
  const config::Environment& environment = config::environment();
  config::Digest digest;
  digest.add(static_cast<uint64_t>(environment.mode)).add(environment.frozen ? 1 : 0);
  digest.add(environment.verify_every).add(static_cast<uint64_t>(nccl_version()));
  return digest.value();
}

bool has_one_hardware_queue() {
  const char* value = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return value != nullptr && std::string(value) == "1";
}

}  // namespace braid::interposer
