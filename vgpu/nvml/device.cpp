// Finding devices and asking what they are.
#include <cuda.h>

#include <cstdio>
#include <cstring>

#include "vgpu/nvml/library.hpp"

using namespace braid::vgpu::nvml;
using braid::vgpu::DeviceInfo;

namespace {

/// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" with the driver's UUID.
nvmlReturn_t format_uuid(const DeviceInfo& device, char (&text)[64]) {
  CUuuid uuid;
  CUdevice handle = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&handle, device.ordinal) != CUDA_SUCCESS ||
      cuDeviceGetUuid(&uuid, handle) != CUDA_SUCCESS) {
    return NVML_ERROR_UNKNOWN;
  }
  size_t used = static_cast<size_t>(std::snprintf(text, sizeof(text), "GPU-"));
  for (int i = 0; i < 16; ++i) {
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    used += static_cast<size_t>(std::snprintf(text + used, sizeof(text) - used, "%s%02x",
                                              dash ? "-" : "",
                                              static_cast<unsigned char>(uuid.bytes[i])));
  }
  return NVML_SUCCESS;
}

/// Free and total memory, as the driver tells a context of the device.
nvmlReturn_t query_memory(const DeviceInfo& info, size_t* free, size_t* total) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, info.ordinal) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return NVML_ERROR_UNKNOWN;
  }
  CUresult result = cuCtxPushCurrent(context);
  if (result == CUDA_SUCCESS) {
    result = cuMemGetInfo(free, total);
    cuCtxPopCurrent(nullptr);
  }
  cuDevicePrimaryCtxRelease(device);
  return result == CUDA_SUCCESS ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  const nvmlReturn_t ready = check_initialized();
  if (ready != NVML_SUCCESS || count == nullptr) {
    return ready != NVML_SUCCESS ? ready : NVML_ERROR_INVALID_ARGUMENT;
  }
  *count = static_cast<unsigned>(braid::vgpu::devices().size());
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) {
  return nvmlDeviceGetCount_v2(count);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* handle) {
  const nvmlReturn_t ready = check_initialized();
  if (ready != NVML_SUCCESS) {
    return ready;
  }
  if (handle == nullptr || index >= braid::vgpu::devices().size()) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *handle = handle_of(braid::vgpu::devices()[index]);
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* handle) {
  const nvmlReturn_t ready = check_initialized();
  if (ready != NVML_SUCCESS) {
    return ready;
  }
  nvmlPciInfo_t wanted;
  if (bus_id == nullptr || handle == nullptr || !fill_pci_info(bus_id, &wanted)) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  for (const DeviceInfo& device : braid::vgpu::devices()) {
    nvmlPciInfo_t info;
    if (fill_pci_info(device.bus_id.c_str(), &info) && std::strcmp(info.busId, wanted.busId) == 0) {
      *handle = handle_of(device);
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* handle) {
  const nvmlReturn_t ready = check_initialized();
  if (ready != NVML_SUCCESS) {
    return ready;
  }
  if (uuid == nullptr || handle == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  for (const DeviceInfo& device : braid::vgpu::devices()) {
    char text[64];
    if (format_uuid(device, text) == NVML_SUCCESS && std::strcmp(text, uuid) == 0) {
      *handle = handle_of(device);
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int* index) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, index, &device);
  if (result == NVML_SUCCESS) {
    *index = static_cast<unsigned>(device->ordinal);
  }
  return result;
}

NVML_API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned int* minor) {
  return nvmlDeviceGetIndex(handle, minor);
}

NVML_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned int length) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, name, &device);
  return result == NVML_SUCCESS ? copy_text(device->name.c_str(), name, length) : result;
}

NVML_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length) {
  const DeviceInfo* device = nullptr;
  nvmlReturn_t result = check_call(handle, uuid, &device);
  char text[64];
  if (result == NVML_SUCCESS) {
    result = format_uuid(*device, text);
  }
  return result == NVML_SUCCESS ? copy_text(text, uuid, length) : result;
}

NVML_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major,
                                                         int* minor) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, major, &device);
  if (result != NVML_SUCCESS || minor == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  *major = device->compute_capability / 10;
  *minor = device->compute_capability % 10;
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  const DeviceInfo* device = nullptr;
  nvmlReturn_t result = check_call(handle, memory, &device);
  size_t free = 0;
  size_t total = 0;
  if (result == NVML_SUCCESS) {
    result = query_memory(*device, &free, &total);
  }
  if (result == NVML_SUCCESS) {
    *memory = nvmlMemory_t{total, free, total - free};
  }
  return result;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  nvmlMemory_t plain;
  const nvmlReturn_t result = nvmlDeviceGetMemoryInfo(handle, memory == nullptr ? nullptr : &plain);
  if (result == NVML_SUCCESS) {
    *memory = nvmlMemory_v2_t{memory->version, plain.total, 0, plain.free, plain.used};
  }
  return result;
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* info) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, info, &device);
  if (result != NVML_SUCCESS) {
    return result;
  }
  return fill_pci_info(device->bus_id.c_str(), info) ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_t* info) {
  return nvmlDeviceGetPciInfo_v3(handle, info);
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t handle, nvmlPciInfo_t* info) {
  return nvmlDeviceGetPciInfo_v3(handle, info);
}

NVML_API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count,
                                               nvmlFieldValue_t* values) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, values, &device);
  if (result != NVML_SUCCESS || count <= 0) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  for (int i = 0; i < count; ++i) {
    values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;  // counters of a box that keeps no time
  }
  return NVML_SUCCESS;
}
