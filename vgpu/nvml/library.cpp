#include "vgpu/nvml/library.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace braid::vgpu::nvml {
namespace {

std::atomic<int> g_references{0};

}  // namespace

nvmlReturn_t check_initialized() {
  return g_references.load() > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

const DeviceInfo* find_device(nvmlDevice_t handle) {
  for (const DeviceInfo& device : devices()) {
    if (handle_of(device) == handle) {
      return &device;
    }
  }
  return nullptr;
}

nvmlDevice_t handle_of(const DeviceInfo& device) {
  return reinterpret_cast<nvmlDevice_t>(const_cast<DeviceInfo*>(&device));
}

nvmlReturn_t check_call(nvmlDevice_t handle, const void* output, const DeviceInfo** device) {
  const nvmlReturn_t ready = check_initialized();
  if (ready != NVML_SUCCESS) {
    return ready;
  }
  *device = find_device(handle);
  return *device == nullptr || output == nullptr ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

nvmlReturn_t copy_text(const char* text, char* buffer, unsigned int length) {
  if (buffer == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const size_t bytes = std::strlen(text) + 1;
  if (bytes > length) {
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  std::memcpy(buffer, text, bytes);
  return NVML_SUCCESS;
}

bool fill_pci_info(const char* bus_id, nvmlPciInfo_t* info) {
  unsigned function = 0;
  *info = nvmlPciInfo_t{};
  if (std::sscanf(bus_id, "%x:%x:%x.%x", &info->domain, &info->bus, &info->device, &function) !=
      4) {
    return false;
  }
  std::snprintf(info->busId, sizeof(info->busId), "%08X:%02X:%02X.%X", info->domain,
                info->bus & 0xff, info->device & 0xff, function & 0xf);
  std::snprintf(info->busIdLegacy, sizeof(info->busIdLegacy), "%04X:%02X:%02X.%X",
                info->domain & 0xffff, info->bus & 0xff, info->device & 0xff, function & 0xf);
  return true;
}

}  // namespace braid::vgpu::nvml

using namespace braid::vgpu::nvml;

NVML_API nvmlReturn_t nvmlInit_v2() {
  if (braid::vgpu::box_error()) {
    braid::vgpu::report_once("no virtual GPU: " + braid::vgpu::box_error()->text());
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  ++g_references;
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlInit() { return nvmlInit_v2(); }

NVML_API nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
  (void)flags;
  return nvmlInit_v2();
}

NVML_API nvmlReturn_t nvmlShutdown() {
  int references = g_references.load();
  while (references > 0 && !g_references.compare_exchange_weak(references, references - 1)) {
  }
  return references > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

NVML_API const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "NVML was not initialised";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not supported";
    case NVML_ERROR_NO_PERMISSION:
      return "No permission";
    case NVML_ERROR_NOT_FOUND:
      return "Not found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Buffer too small";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver not loaded";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function not found";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_UNKNOWN:
      break;
  }
  return "Unknown error";
}

NVML_API nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  const nvmlReturn_t ready = check_initialized();
  return ready == NVML_SUCCESS ? copy_text("580.00 (virtual)", version, length) : ready;
}

NVML_API nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return copy_text("13.580.00 (virtual)", version, length);
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (version == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return cuDriverGetVersion(version) == CUDA_SUCCESS ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}
