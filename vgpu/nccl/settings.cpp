#include "vgpu/nccl/settings.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include "tuner_plugin/abi/env.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/plugin_library.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr uint8_t kMajor = 2, kMinor = 28, kPatch = 9;

/// Where values come from; set up once, before the first look-up. Never destroyed.
struct Sources {
  std::map<std::string, std::string> from_files;
  const abi::EnvV1* plugin = nullptr;
};

std::string trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) {
    return "";
  }
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// NAME=VALUE lines; '#' starts a comment line. The first file that sets a name wins.
void read_file(const std::string& path, std::map<std::string, std::string>& values) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    const std::string name = trim(line.substr(0, equals));
    if (equals == std::string::npos || name.empty() || name.front() == '#') {
      continue;
    }
    values.emplace(name, trim(line.substr(equals + 1)));
  }
}

void load_plugin(Sources& sources) {
  const PluginLibrary library = open_plugin(PluginKind::kEnv, std::getenv("NCCL_ENV_PLUGIN"));
  if (!library) {
    return;
  }
  int chosen = 0;
  const auto* plugin =
      static_cast<const abi::EnvV1*>(find_first_symbol(library, &abi::kEnvSymbolV1, 1, &chosen));
  if (plugin == nullptr) {
    BRAID_NCCL_INFO(abi::kLogInit, "ENV/Plugin: %s has no symbol %s", library.name.c_str(),
                    abi::kEnvSymbolV1);
    return;
  }
  if (plugin->init(kMajor, kMinor, kPatch, "") != abi::kSuccess) {
    BRAID_NCCL_INFO(abi::kLogInit, "ENV/Plugin: %s of %s failed to initialise", plugin->name,
                    library.name.c_str());
    return;
  }
  BRAID_NCCL_INFO(abi::kLogInit | abi::kLogEnv, "ENV/Plugin: using %s (v1) of %s", plugin->name,
                  library.name.c_str());
  sources.plugin = plugin;
}

const Sources& sources() {
  static const Sources* const ready = [] {
    auto* made = new Sources;
    const char* file = std::getenv("NCCL_CONF_FILE");
    const char* home = std::getenv("HOME");
    if (file != nullptr && *file != '\0') {
      read_file(file, made->from_files);
    } else if (home != nullptr) {
      read_file(std::string(home) + "/.nccl.conf", made->from_files);
    }
    read_file("/etc/nccl.conf", made->from_files);
    load_plugin(*made);
    return made;
  }();
  return *ready;
}

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::string> texts;
  std::map<std::string, int64_t> numbers;
};

Cache& cache() {
  static Cache* const values = new Cache;
  return *values;
}

}  // namespace

const char* find_setting(const char* name) {
  const Sources& from = sources();
  if (from.plugin != nullptr) {
    return from.plugin->get_env(name);
  }
  if (const char* value = std::getenv(name)) {
    return value;
  }
  const auto entry = from.from_files.find(name);
  return entry == from.from_files.end() ? nullptr : entry->second.c_str();
}

std::string read_setting(const char* name) {
  const char* value = find_setting(name);
  return value == nullptr ? "" : value;
}

int64_t cached_number(const char* name, int64_t default_value) {
  Cache& known = cache();
  std::lock_guard lock(known.mutex);
  const auto entry = known.numbers.find(name);
  if (entry != known.numbers.end()) {
    return entry->second;
  }
  int64_t value = default_value;
  const std::string text = read_setting(name);
  if (!text.empty()) {
    char* end = nullptr;
    errno = 0;
    const int64_t number = std::strtoll(text.c_str(), &end, 0);
    if (errno != 0 || end == text.c_str() || *end != '\0') {
      BRAID_NCCL_INFO(abi::kLogAll, "Invalid value %s for %s, using default %lld.", text.c_str(),
                      name, static_cast<long long>(default_value));
    } else {
      value = number;
      BRAID_NCCL_INFO(abi::kLogEnv, "%s set by environment to %lld.", name,
                      static_cast<long long>(value));
    }
  }
  known.numbers.emplace(name, value);
  return value;
}

const std::string& cached_text(const char* name) {
  Cache& known = cache();
  std::lock_guard lock(known.mutex);
  auto entry = known.texts.find(name);
  if (entry == known.texts.end()) {
    entry = known.texts.emplace(name, read_setting(name)).first;
  }
  return entry->second;
}

}  // namespace braid::vgpu::nccl
