// A tuner plugin of an older version (TUNER_VERSION 2, 3 or 4): Tree with LL on one channel.
#include "tuner_plugin/abi/tuner.hpp"

namespace abi = braid::abi;

namespace {

abi::Result init(size_t, size_t, abi::Logger, void** context) {
  *context = nullptr;
  return abi::kSuccess;
}
abi::Result destroy(void*) { return abi::kSuccess; }

#if TUNER_VERSION == 2
abi::Result get_collective_info(void*, abi::Function, size_t, int, int, int, int* algorithm,
                                int* protocol, int* channels) {
  *algorithm = abi::kAlgorithmTree;
  *protocol = abi::kProtocolLl;
  *channels = 1;
  return abi::kSuccess;
}
#else
abi::Result set_costs(float** costs, int protocols, int* channels) {
  reinterpret_cast<float*>(costs)[abi::kAlgorithmTree * protocols + abi::kProtocolLl] = 0;
  *channels = 1;
  return abi::kSuccess;
}
#endif
#if TUNER_VERSION == 3
abi::Result get_collective_info(void*, abi::Function, size_t, int, float** costs, int,
                                int protocols, int* channels) {
  return set_costs(costs, protocols, channels);
}
#elif TUNER_VERSION == 4
abi::Result get_collective_info(void*, abi::Function, size_t, int, float** costs, int,
                                int protocols, int, int* channels) {
  return set_costs(costs, protocols, channels);
}
#endif

}  // namespace

#define NAME_OF(version) ncclTunerPlugin_v##version
#define TYPE_OF(version) abi::TunerV##version
#define NAME(version) NAME_OF(version)
#define TYPE(version) TYPE_OF(version)
extern "C" __attribute__((visibility("default"))) const TYPE(TUNER_VERSION) NAME(TUNER_VERSION);
const TYPE(TUNER_VERSION) NAME(TUNER_VERSION) = {"old", init, get_collective_info, destroy};
