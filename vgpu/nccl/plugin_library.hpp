// Finding and opening plugin libraries by NCCL's search rules.
#pragma once

#include <string>

namespace braid::vgpu::nccl {

enum class PluginKind { kNet, kTuner, kProfiler, kEnv };

/// An opened plugin library. Empty when none was found or none is wanted.
struct PluginLibrary {
  void* handle = nullptr;
  std::string name;

  explicit operator bool() const { return handle != nullptr; }
};

/// Opens the plugin that `setting` (the value of NCCL_<KIND>_PLUGIN, null when unset) names:
///   - unset: libnccl-<kind>.so;
///   - "none" in any case: none;
///   - "STATIC_PLUGIN", or any prefix of it in any case (an oddity of NCCL that is kept): the
///     process's global symbols;
///   - else the value itself, then libnccl-<kind>-<value>.so unless the value has a slash or
///   already
///     has the form lib*.so.
/// Names are cut at 254 characters. Failures are logged, not errors.
PluginLibrary open_plugin(PluginKind kind, const char* setting);

/// The net plugin's library (NCCL_NET_PLUGIN, libnccl-net.so), which may hold tuner and profiler as
/// well. Empty unless it is a net plugin. The virtual box itself carries no data through it.
PluginLibrary open_net_library();

/// True for "none" in any case: no plugin and no fallback.
bool is_none(const char* setting);

/// The first symbol of the library among `names`, or null; `chosen` becomes its index.
void* find_first_symbol(const PluginLibrary& library, const char* const* names, int count,
                        int* chosen);

}  // namespace braid::vgpu::nccl
