#include "vgpu/nccl/profiler.hpp"

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/plugin_library.hpp"
#include "vgpu/nccl/profiler_events.hpp"
#include "vgpu/nccl/settings.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr const char* kSymbols[] = {abi::kProfilerSymbolV5, abi::kProfilerSymbolV4,
                                    abi::kProfilerSymbolV3, abi::kProfilerSymbolV2,
                                    abi::kProfilerSymbolV1};
constexpr int kSymbolCount = 5;
constexpr int kNodes = 1;

/// The one mask of the process. Plugins keep its address and may write to it at any time, after the
/// communicator is gone as well.
int event_mask = 0;

struct Plugin {
  std::mutex mutex;
  bool failed = false;
  PluginLibrary library;
  const void* table = nullptr;
  int version = 0;
  int references = 0;
};

Plugin& plugin() {
  static Plugin* const known = new Plugin;
  return *known;
}

bool find_table(Plugin& known, PluginLibrary library) {
  int chosen = 0;
  const void* table =
      library ? find_first_symbol(library, kSymbols, kSymbolCount, &chosen) : nullptr;
  if (table == nullptr) {
    if (library) {
      dlclose(library.handle);
    }
    return false;
  }
  known.library = std::move(library);
  known.table = table;
  known.version = 5 - chosen;
  return true;
}

/// Under the mutex. False when there is no plugin.
bool acquire(Plugin& known) {
  if (known.failed) {
    return false;
  }
  if (known.references == 0) {
    const std::string setting = read_setting("NCCL_PROFILER_PLUGIN");
    const char* value = setting.empty() ? nullptr : setting.c_str();
    known.failed =
        is_none(value) || (!find_table(known, open_plugin(PluginKind::kProfiler, value)) &&
                           !find_table(known, open_net_library()));
    if (known.failed) {
      return false;
    }
    BRAID_NCCL_INFO(abi::kLogInit | abi::kLogProfile, "PROFILER/Plugin: using v%d of %s",
                    known.version, known.library.name.c_str());
  }
  ++known.references;
  return true;
}

void release(Plugin& known) {
  if (--known.references == 0) {
    dlclose(known.library.handle);
    known.library = {};
  }
}

/// Calls `function` with the plugin's table in its version's type.
template <typename Function>
auto with_version(int version, const void* table, Function&& function) {
  switch (version) {
    case 1:
      return function(*static_cast<const abi::ProfilerV1*>(table));
    case 2:
      return function(*static_cast<const abi::ProfilerV2*>(table));
    case 3:
      return function(*static_cast<const abi::ProfilerV3*>(table));
    case 4:
      return function(*static_cast<const abi::ProfilerV4*>(table));
    default:
      return function(*static_cast<const abi::ProfilerV5*>(table));
  }
}

abi::Result initialize(const abi::ProfilerV5& plugin, void** context,
                       const ProfilerSession::Identity& who) {
  return plugin.init(context, who.communicator, &event_mask, who.name.c_str(), kNodes, who.ranks,
                     who.rank, write_log);
}
abi::Result initialize(const abi::ProfilerV4& plugin, void** context,
                       const ProfilerSession::Identity& who) {
  return plugin.init(context, &event_mask, who.name.c_str(), who.communicator, kNodes, who.ranks,
                     who.rank, write_log);
}
template <typename Table>
abi::Result initialize(const Table& plugin, void** context, const ProfilerSession::Identity&) {
  return plugin.init(context, &event_mask);
}

template <typename Descriptor, typename Arguments>
void* start_event(const abi::ProfilerFunctions<Descriptor, Arguments>& functions, void* context,
                  const EventFacts& facts, const ProfilerSession::Identity& identity) {
  Descriptor descriptor{};
  descriptor.kind = static_cast<decltype(descriptor.kind)>(facts.kind);
  descriptor.parent = facts.parent;
  descriptor.rank = identity.rank;
  void* event = nullptr;
  if (describe(facts, identity, descriptor.of)) {
    functions.start_event(context, &event, &descriptor);
  }
  return event;
}

/// Only version 4 on has a stop time to hand over.
template <typename Descriptor>
void record_stop(const abi::ProfilerFunctions<Descriptor, abi::ProfilerStateArgumentsV4>& functions,
                 void* event, uint64_t stop_time) {
  abi::ProfilerStateArgumentsV4 arguments{};
  arguments.kernel_channel.stop_time = stop_time;
  functions.record_event_state(event, abi::kStateKernelChannelStop, &arguments);
}
template <typename Descriptor>
void record_stop(const abi::ProfilerFunctions<Descriptor, abi::ProfilerStateArgumentsV1>&, void*,
                 uint64_t) {}

}  // namespace

void ProfilerSession::open(Identity identity, std::unique_ptr<ProfilerSession>* session) {
  Plugin& known = plugin();
  std::unique_ptr<ProfilerSession> made(new ProfilerSession);
  {
    std::lock_guard lock(known.mutex);
    if (!acquire(known)) {
      return;
    }
    made->plugin_ = known.table;
    made->version_ = known.version;
  }
  made->identity_ = std::move(identity);
  const abi::Result result = with_version(made->version_, made->plugin_, [&](const auto& table) {
    return initialize(table, &made->context_, made->identity_);
  });
  if (result != abi::kSuccess) {
    BRAID_NCCL_INFO(abi::kLogInit | abi::kLogProfile,
                    "PROFILER/Plugin: init failed with %d; profiling is off for this communicator",
                    static_cast<int>(result));
    made->plugin_ = nullptr;
    std::lock_guard lock(known.mutex);
    release(known);
    return;
  }
  *session = std::move(made);
}

ProfilerSession::~ProfilerSession() {
  if (plugin_ == nullptr) {
    return;
  }
  with_version(version_, plugin_,
               [&](const auto& table) { return table.functions.finalize(context_); });
  std::lock_guard lock(plugin().mutex);
  release(plugin());
}

void* ProfilerSession::start(const EventFacts& facts) {
  const auto mask =
      static_cast<uint32_t>(std::atomic_ref<int>(event_mask).load(std::memory_order_relaxed));
  if ((mask & facts.kind) == 0) {
    return nullptr;
  }
  return with_version(version_, plugin_, [&](const auto& table) {
    return start_event(table.functions, context_, facts, identity_);
  });
}

void ProfilerSession::stop(void* event) {
  if (event != nullptr) {
    with_version(version_, plugin_,
                 [&](const auto& table) { return table.functions.stop_event(event); });
  }
}

void ProfilerSession::record_kernel_stop(void* event, uint64_t stop_time) {
  if (event != nullptr) {
    with_version(version_, plugin_, [&](const auto& table) {
      record_stop(table.functions, event, stop_time);
      return abi::kSuccess;
    });
  }
}

void ProfilerSession::record_group_state(void* event, abi::ProfilerEventState state) {
  if (event != nullptr && version_ >= 5) {
    static_cast<const abi::ProfilerV5*>(plugin_)->functions.record_event_state(event, state,
                                                                               nullptr);
  }
}

const char* name_of(abi::Function function) {
  constexpr const char* kNames[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                    "AllReduce", "SendRecv", "Send",      "Recv",
                                    "AlltoAll",  "Scatter",  "Gather"};
  return kNames[function];
}

uint64_t read_global_timer() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace braid::vgpu::nccl
