// The tuner interface's versions 2 to 6, each a few lines over Tuner. These five objects are all
// that libnccl-tuner-braid.so exports.
#include <exception>

#include "tuner_plugin/tuner.hpp"

namespace braid::tuner {
namespace {

constexpr const char* kName = "braid";

// Communicator creation fails on an error here, on this rank.
abi::Result open_tuner(size_t ranks, size_t nodes, abi::Logger logger, void** context) {
  if (context == nullptr) {
    return abi::kInvalidArgument;
  }
  *context = nullptr;
  try {
    auto tuner = make_tuner(process_settings(), ranks, nodes, logger);
    if (!tuner) {
      return abi::kInvalidUsage;
    }
    *context = tuner->release();
    return abi::kSuccess;
  } catch (const std::exception&) {
    return abi::kSystemError;
  }
}

abi::Result close_tuner(void* context) {
  delete static_cast<Tuner*>(context);
  return abi::kSuccess;
}

abi::Result init_v2(size_t ranks, size_t nodes, abi::Logger logger, void** context) {
  return open_tuner(ranks, nodes, logger, context);
}

abi::Result init_v5(void** context, uint64_t, size_t ranks, size_t nodes, abi::Logger logger,
                    abi::TunerNvlDomainInfo*, abi::TunerConstants*) {
  return open_tuner(ranks, nodes, logger, context);
}

// An error from here on would fail the user's collective: there is none.
abi::Result get_v2(void* context, abi::Function function, size_t bytes, int, int, int,
                   int* algorithm, int* protocol, int* channels) {
  if (context != nullptr) {
    static_cast<Tuner*>(context)->choose_without_table(function, bytes, algorithm, protocol,
                                                       channels);
  }
  return abi::kSuccess;
}

abi::Result get_v3(void* context, abi::Function function, size_t bytes, int, float** table,
                   int algorithms, int protocols, int* channels) {
  if (context != nullptr) {
    // The table is contiguous; the pointer's type is the interface's fiction.
    static_cast<Tuner*>(context)->choose(function, bytes, reinterpret_cast<float*>(table),
                                         algorithms, protocols, channels);
  }
  return abi::kSuccess;
}

// Whether buffers are registered may differ between ranks, so it must not matter.
abi::Result get_v4(void* context, abi::Function function, size_t bytes, int grouped, float** table,
                   int algorithms, int protocols, int, int* channels) {
  return get_v3(context, function, bytes, grouped, table, algorithms, protocols, channels);
}

}  // namespace
}  // namespace braid::tuner

#define BRAID_EXPORT extern "C" __attribute__((visibility("default"))) const

using namespace braid;

BRAID_EXPORT abi::TunerV2 ncclTunerPlugin_v2 = {tuner::kName, tuner::init_v2, tuner::get_v2,
                                                tuner::close_tuner};
BRAID_EXPORT abi::TunerV3 ncclTunerPlugin_v3 = {tuner::kName, tuner::init_v2, tuner::get_v3,
                                                tuner::close_tuner};
BRAID_EXPORT abi::TunerV4 ncclTunerPlugin_v4 = {tuner::kName, tuner::init_v2, tuner::get_v4,
                                                tuner::close_tuner};
BRAID_EXPORT abi::TunerV5 ncclTunerPlugin_v5 = {tuner::kName, tuner::init_v5, tuner::get_v4,
                                                tuner::close_tuner};
BRAID_EXPORT abi::TunerV6 ncclTunerPlugin_v6 = {tuner::kName, tuner::init_v5, tuner::get_v4,
                                                tuner::close_tuner, nullptr};
