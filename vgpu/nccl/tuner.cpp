#include "vgpu/nccl/tuner.hpp"

#include <dlfcn.h>

#include <mutex>

#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/plugin_library.hpp"
#include "vgpu/nccl/settings.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr const char* kSymbols[] = {abi::kTunerSymbolV5, abi::kTunerSymbolV4, abi::kTunerSymbolV3,
                                    abi::kTunerSymbolV2};
constexpr int kVersions[] = {5, 4, 3, 2};
constexpr int kSymbolCount = 4;
constexpr size_t kNodes = 1;  // the virtual box is one machine

enum class LoadState { kNotTried, kLoaded, kFailed };

/// The process's tuner plugin. Guarded by its mutex.
struct Plugin {
  std::mutex mutex;
  LoadState state = LoadState::kNotTried;
  PluginLibrary library;
  const void* table = nullptr;
  int version = 0;
  int references = 0;
};

Plugin& plugin() {
  static Plugin* const known = new Plugin;
  return *known;
}

bool find_table(Plugin& known, const PluginLibrary& library) {
  int chosen = 0;
  const void* table = find_first_symbol(library, kSymbols, kSymbolCount, &chosen);
  if (table == nullptr) {
    BRAID_NCCL_INFO(abi::kLogTuning, "TUNER/Plugin: %s has none of ncclTunerPlugin_v5 to _v2",
                    library.name.c_str());
    return false;
  }
  known.library = library;
  known.table = table;
  known.version = kVersions[chosen];
  return true;
}

/// True when the library was loaded by this very call.
bool load(Plugin& known) {
  if (known.state == LoadState::kLoaded) {
    ++known.references;
    return false;
  }
  if (known.state == LoadState::kFailed) {
    return false;
  }
  const char* setting = find_setting("NCCL_TUNER_PLUGIN");
  known.state = LoadState::kFailed;
  if (is_none(setting)) {
    return false;
  }
  PluginLibrary library = open_plugin(PluginKind::kTuner, setting);
  if (!library || !find_table(known, library)) {
    if (library) {
      dlclose(library.handle);
    }
    library = open_net_library();
    if (!library || !find_table(known, library)) {
      return false;
    }
  }
  BRAID_NCCL_INFO(abi::kLogInit | abi::kLogTuning, "TUNER/Plugin: using v%d of %s", known.version,
                  known.library.name.c_str());
  known.state = LoadState::kLoaded;
  known.references = 1;
  return true;
}

template <typename Table>
const Table& as(const void* table) {
  return *static_cast<const Table*>(table);
}

ncclResult_t to_nccl(abi::Result result) { return static_cast<ncclResult_t>(result); }

}  // namespace

ncclResult_t TunerSession::open(uint64_t communicator, int ranks, abi::TunerConstants* constants,
                                std::unique_ptr<TunerSession>* session) {
  std::unique_ptr<TunerSession> made(new TunerSession);
  {
    Plugin& known = plugin();
    std::lock_guard lock(known.mutex);
    made->holds_library_ = load(known);
    if (known.state != LoadState::kLoaded) {
      return ncclSuccess;
    }
    made->plugin_ = known.table;
    made->version_ = known.version;
  }
  const auto size = static_cast<size_t>(ranks);
  abi::Result result = abi::kSuccess;
  if (made->version_ == 5) {
    abi::TunerNvlDomainInfo domains{1, ranks, ranks};
    result = as<abi::TunerV5>(made->plugin_)
                 .init(&made->context_, communicator, size, kNodes, write_log, &domains, constants);
  } else {
    // Versions 2 to 4 start with the same two fields.
    result = as<abi::TunerV4>(made->plugin_).init(size, kNodes, write_log, &made->context_);
  }
  if (result != abi::kSuccess) {
    made->plugin_ = nullptr;  // no context to finalize
    return reject(to_nccl(result), "TUNER/Plugin: init failed with %d (%s)",
                  static_cast<int>(result), ncclGetErrorString(to_nccl(result)));
  }
  *session = std::move(made);
  return ncclSuccess;
}

TunerSession::~TunerSession() {
  if (plugin_ != nullptr) {
    switch (version_) {
      case 5:
        as<abi::TunerV5>(plugin_).finalize(context_);
        break;
      case 4:
        as<abi::TunerV4>(plugin_).destroy(context_);
        break;
      case 3:
        as<abi::TunerV3>(plugin_).destroy(context_);
        break;
      default:
        as<abi::TunerV2>(plugin_).destroy(context_);
        break;
    }
  }
  if (holds_library_) {
    Plugin& known = plugin();
    std::lock_guard lock(known.mutex);
    if (--known.references == 0) {
      dlclose(known.library.handle);
      known.library = {};
      known.state = LoadState::kNotTried;
    }
  }
}

ncclResult_t TunerSession::ask(abi::Function function, size_t bytes, int grouped_operations,
                               model::CostTable* table, int* channels) {
  *channels = 0;
  float** costs = reinterpret_cast<float**>(table->data());
  constexpr int kAlgorithms = model::kAlgorithms, kProtocols = model::kProtocols;
  if (version_ == 5) {
    return to_nccl(
        as<abi::TunerV5>(plugin_).get_collective_info(context_, function, bytes, grouped_operations,
                                                      costs, kAlgorithms, kProtocols, 0, channels));
  }
  if (version_ == 4) {
    return to_nccl(
        as<abi::TunerV4>(plugin_).get_collective_info(context_, function, bytes, grouped_operations,
                                                      costs, kAlgorithms, kProtocols, 0, channels));
  }
  if (version_ == 3) {
    return to_nccl(as<abi::TunerV3>(plugin_).get_collective_info(
        context_, function, bytes, grouped_operations, costs, kAlgorithms, kProtocols, channels));
  }
  int algorithm = abi::kAlgorithmUndefined;
  int protocol = abi::kProtocolUndefined;
  const auto result = as<abi::TunerV2>(plugin_).get_collective_info(
      context_, function, bytes, 0, 0, grouped_operations, &algorithm, &protocol, channels);
  BRAID_NCCL_TRY(to_nccl(result));
  // An answer of version 2 becomes the cheapest entry, unless NCCL ignores that entry.
  if (algorithm >= 0 && algorithm < kAlgorithms && protocol >= 0 && protocol < kProtocols) {
    float& cost = (*table)[static_cast<size_t>(algorithm)][static_cast<size_t>(protocol)];
    if (cost != abi::kCostIgnored) {
      cost = 0;
    }
  }
  return ncclSuccess;
}

}  // namespace braid::vgpu::nccl
