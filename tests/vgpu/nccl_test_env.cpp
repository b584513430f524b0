// An env plugin (v1): answers NAME with TEST_ENV_ANSWER_NAME of the environment.
#include <cstdlib>
#include <string>

#include "tuner_plugin/abi/env.hpp"

namespace abi = braid::abi;

namespace {

abi::Result init(uint8_t, uint8_t, uint8_t, const char*) { return abi::kSuccess; }
abi::Result finalize() { return abi::kSuccess; }
const char* get_env(const char* name) {
  return std::getenv((std::string("TEST_ENV_ANSWER_") + name).c_str());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const abi::EnvV1 ncclEnvPlugin_v1;
const abi::EnvV1 ncclEnvPlugin_v1 = {"test", init, finalize, get_env};
