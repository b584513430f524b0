#include "vgpu/core/kernel_registry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "config/environment.hpp"
#include "vgpu/core/process.hpp"

namespace braid::vgpu {
namespace {

constexpr char kSuffix[] = ".braid-kernels.so";

struct Registry {
  std::mutex mutex;
  bool loaded = false;
  std::unordered_map<std::string, const braid_host_kernel*> kernels;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

Status check_table(const braid_host_kernel_table* table, const std::string& origin) {
  if (table->abi != BRAID_HOST_KERNEL_ABI) {
    return fail(origin, "has host kernels of ABI " + std::to_string(table->abi) + "; expected " +
                            std::to_string(BRAID_HOST_KERNEL_ABI));
  }
  for (size_t i = 0; i < table->count; ++i) {
    const braid_host_kernel& kernel = table->kernels[i];
    if (kernel.name == nullptr || kernel.run == nullptr ||
        (kernel.argument_count > 0 && kernel.argument_bytes == nullptr)) {
      return fail(origin, "host kernel " + std::to_string(i) +
                              " lacks its name, function or argument sizes");
    }
  }
  return {};
}

void load_library(const std::string& path, Registry& out) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    report_once("host kernels '" + path +
                "' cannot be loaded: " + (reason != nullptr ? reason : "unknown reason"));
    return;
  }
  const auto* table =
      static_cast<const braid_host_kernel_table*>(dlsym(library, BRAID_HOST_KERNELS_SYMBOL));
  if (table == nullptr) {
    report_once("host kernels '" + path + "' export no symbol " BRAID_HOST_KERNELS_SYMBOL);
    return;
  }
  if (const Status status = check_table(table, path); !status) {
    report_once(status.error().text());
    return;
  }
  for (size_t i = 0; i < table->count; ++i) {
    out.kernels.emplace(table->kernels[i].name, &table->kernels[i]);
  }
}

void load_folder(const std::filesystem::path& folder, Registry& out) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() >= sizeof(kSuffix) &&
        name.compare(name.size() - (sizeof(kSuffix) - 1), std::string::npos, kSuffix) == 0) {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  for (const std::string& path : found) {
    load_library(path, out);
  }
}

void load_all(Registry& out) {
  const std::string& list = config::environment().vgpu_kernel_path;
  for (size_t start = 0; start < list.size();) {
    const size_t end = std::min(list.find(':', start), list.size());
    if (end > start) {
      load_library(list.substr(start, end - start), out);
    }
    start = end + 1;
  }
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    load_folder(executable.parent_path(), out);
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_host_kernel), &info) != 0 && info.dli_fname != nullptr) {
    const auto own = std::filesystem::canonical(info.dli_fname, error);
    if (!error && own.parent_path() != executable.parent_path()) {
      load_folder(own.parent_path(), out);
    }
  }
}

}  // namespace

const braid_host_kernel* find_host_kernel(const std::string& name) {
  if (is_fork_child()) {
    return nullptr;
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (!all.loaded) {
    all.loaded = true;
    load_all(all);
  }
  const auto found = all.kernels.find(name);
  return found == all.kernels.end() ? nullptr : found->second;
}

Status add_host_kernels(const braid_host_kernel_table* table, const std::string& origin) {
  if (table == nullptr) {
    return fail(origin, "no table of host kernels was given");
  }
  if (Status status = check_table(table, origin); !status) {
    return status;
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (size_t i = 0; i < table->count; ++i) {
    all.kernels.insert_or_assign(table->kernels[i].name, &table->kernels[i]);
  }
  return {};
}

}  // namespace braid::vgpu
