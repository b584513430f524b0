#include "cli/doctor/live_gpus.hpp"

#include <fmt/format.h>

#include "cli/doctor/shared_library.hpp"

namespace braid::cli {
namespace {

// NVML's public interface, as far as it is used here. Declared by us: the header comes with few
// toolkits, and the library is only ever found at run time.
using NvmlDevice = struct NvmlDeviceTag*;
constexpr int kNvmlSuccess = 0;
constexpr unsigned kMaxLinks = 18;
constexpr unsigned kNameSize = 96, kDriverVersionSize = 80;

struct NvmlPciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct NvmlMemory {
  unsigned long long total, free, used;
};

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*pci_info)(NvmlDevice, NvmlPciInfo*) = nullptr;
  int (*capability)(NvmlDevice, int*, int*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*link_state)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*link_target)(NvmlDevice, unsigned, NvmlPciInfo*) = nullptr;
};

std::string text_of(const Nvml& nvml, int code) {
  const char* text = nvml.error_string == nullptr ? nullptr : nvml.error_string(code);
  return fmt::format("NVML error {} ({})", code, text == nullptr ? "" : text);
}

LiveGpu describe(const Nvml& nvml, NvmlDevice device) {
  LiveGpu gpu;
  char name[kNameSize] = "unknown";
  if (nvml.name != nullptr && nvml.name(device, name, sizeof name) == kNvmlSuccess) {
    gpu.name = name;
  }
  NvmlPciInfo pci{};
  if (nvml.pci_info != nullptr && nvml.pci_info(device, &pci) == kNvmlSuccess) {
    gpu.bus_id = pci.bus_id;
  }
  int major = 0, minor = 0;
  if (nvml.capability != nullptr && nvml.capability(device, &major, &minor) == kNvmlSuccess) {
    gpu.compute_capability = major * 10 + minor;
  }
  NvmlMemory memory{};
  if (nvml.memory != nullptr && nvml.memory(device, &memory) == kNvmlSuccess) {
    gpu.memory_bytes = memory.total;
  }
  for (unsigned link = 0;
       nvml.link_state != nullptr && nvml.link_target != nullptr && link < kMaxLinks; ++link) {
    unsigned active = 0;
    NvmlPciInfo target{};
    if (nvml.link_state(device, link, &active) == kNvmlSuccess && active == 1 &&
        nvml.link_target(device, link, &target) == kNvmlSuccess) {
      gpu.nvlink_targets.push_back(target.bus_id);
    }
  }
  return gpu;
}

}  // namespace

LiveGpus probe_live_gpus() {
  LiveGpus found;
  SharedLibrary library("libnvidia-ml.so.1");
  if (!library.loaded()) {
    found.reason = "libnvidia-ml.so.1 (NVIDIA's driver) was not found: " + library.error();
    return found;
  }
  found.library = library.path();
  Nvml nvml;
  library.find("nvmlInit_v2", &nvml.init);
  library.find("nvmlShutdown", &nvml.shutdown);
  library.find("nvmlErrorString", &nvml.error_string);
  library.find("nvmlSystemGetDriverVersion", &nvml.driver_version);
  library.find("nvmlDeviceGetCount_v2", &nvml.count);
  library.find("nvmlDeviceGetHandleByIndex_v2", &nvml.handle);
  library.find("nvmlDeviceGetName", &nvml.name);
  library.find("nvmlDeviceGetPciInfo_v3", &nvml.pci_info);
  library.find("nvmlDeviceGetCudaComputeCapability", &nvml.capability);
  library.find("nvmlDeviceGetMemoryInfo", &nvml.memory);
  library.find("nvmlDeviceGetNvLinkState", &nvml.link_state);
  library.find("nvmlDeviceGetNvLinkRemotePciInfo_v2", &nvml.link_target);
  if (nvml.init == nullptr || nvml.count == nullptr || nvml.handle == nullptr) {
    found.reason = library.path() +
                   " lacks nvmlInit_v2, nvmlDeviceGetCount_v2 or "
                   "nvmlDeviceGetHandleByIndex_v2";
    return found;
  }
  if (const int code = nvml.init(); code != kNvmlSuccess) {
    found.reason = "nvmlInit_v2: " + text_of(nvml, code);
    return found;
  }
  char driver[kDriverVersionSize] = "";
  if (nvml.driver_version != nullptr &&
      nvml.driver_version(driver, sizeof driver) == kNvmlSuccess) {
    found.driver = driver;
  }
  unsigned count = 0;
  if (const int code = nvml.count(&count); code != kNvmlSuccess) {
    found.reason = "nvmlDeviceGetCount_v2: " + text_of(nvml, code);
  } else if (count == 0) {
    found.reason = "the driver reports no GPU";
  }
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device{};
    if (nvml.handle(i, &device) == kNvmlSuccess) {
      found.gpus.push_back(describe(nvml, device));
    }
  }
  if (nvml.shutdown != nullptr) {
    nvml.shutdown();
  }
  return found;
}

}  // namespace braid::cli
