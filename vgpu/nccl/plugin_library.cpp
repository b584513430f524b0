#include "vgpu/nccl/plugin_library.hpp"

#include <dlfcn.h>
#include <strings.h>

#include <cstring>

#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/settings.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr size_t kNameLimit = 254;

const char* kind_name(PluginKind kind) {
  switch (kind) {
    case PluginKind::kNet:
      return "net";
    case PluginKind::kTuner:
      return "tuner";
    case PluginKind::kProfiler:
      return "profiler";
    case PluginKind::kEnv:
      return "env";
  }
  return "";
}

/// dlopen with everything resolved at once: a plugin with an undefined symbol is passed over.
void* try_open(const std::string& name, const char* kind) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    BRAID_NCCL_INFO(abi::kLogInit, "%s/Plugin: could not open %s: %s", kind, name.c_str(),
                    dlerror());
  }
  return handle;
}

bool has_library_form(const std::string& name) {
  return name.size() > 6 && name.starts_with("lib") && name.ends_with(".so");
}

}  // namespace

bool is_none(const char* setting) { return setting != nullptr && strcasecmp(setting, "none") == 0; }

PluginLibrary open_plugin(PluginKind kind, const char* setting) {
  const char* word = kind_name(kind);
  if (is_none(setting)) {
    return {};
  }
  if (setting == nullptr || *setting == '\0') {
    const std::string name = std::string("libnccl-") + word + ".so";
    return {try_open(name, word), name};
  }
  const std::string value = std::string(setting).substr(0, kNameLimit);
  if (strncasecmp(value.c_str(), "STATIC_PLUGIN", value.size()) == 0) {
    return {dlopen(nullptr, RTLD_NOW | RTLD_LOCAL), "STATIC_PLUGIN"};
  }
  if (void* handle = try_open(value, word)) {
    return {handle, value};
  }
  if (value.find('/') != std::string::npos || has_library_form(value)) {
    return {};
  }
  const std::string name =
      (std::string("libnccl-") + word + "-" + value + ".so").substr(0, kNameLimit);
  return {try_open(name, word), name};
}

PluginLibrary open_net_library() {
  constexpr const char* kNetSymbols[] = {"ncclNetPlugin_v11", "ncclNetPlugin_v10",
                                         "ncclNetPlugin_v9",  "ncclNetPlugin_v8",
                                         "ncclNetPlugin_v7",  "ncclNetPlugin_v6"};
  const std::string setting = read_setting("NCCL_NET_PLUGIN");
  PluginLibrary library =
      open_plugin(PluginKind::kNet, setting.empty() ? nullptr : setting.c_str());
  int chosen = 0;
  if (library && find_first_symbol(library, kNetSymbols, 6, &chosen) == nullptr) {
    dlclose(library.handle);
    library = {};
  }
  return library;
}

void* find_first_symbol(const PluginLibrary& library, const char* const* names, int count,
                        int* chosen) {
  for (int i = 0; i < count; ++i) {
    if (void* symbol = dlsym(library.handle, names[i])) {
      *chosen = i;
      return symbol;
    }
  }
  return nullptr;
}

}  // namespace braid::vgpu::nccl
