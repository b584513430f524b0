// Devices: how many, their names, ids, and how they reach each other.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "vgpu/core/memory.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

struct BusAddress {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  bool operator==(const BusAddress&) const = default;
};

// "0000:3b:00.0", "3b:00.0" or "0000:3b:00".
bool parse_bus_id(const char* text, BusAddress* out) {
  BusAddress a;
  if (std::sscanf(text, "%x:%x:%x.%x", &a.domain, &a.bus, &a.device, &a.function) >= 3) {
    *out = a;
    return true;
  }
  a = {};
  if (std::sscanf(text, "%x:%x.%x", &a.bus, &a.device, &a.function) >= 2) {
    *out = a;
    return true;
  }
  return false;
}

uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

bool joined_by_nvlink(const DeviceInfo& a, const DeviceInfo& b) {
  const auto& gpus = topology().gpus;
  const auto& links = gpus[static_cast<size_t>(a.topology_index)].nvlinks;
  return std::any_of(links.begin(), links.end(), [&](const model::NvLink& link) {
    return link.target_gpu == b.topology_index || link.target_class == 0x068000;
  });
}

}  // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (find_device(ordinal) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *count = static_cast<int>(devices().size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice handle) {
  const DeviceInfo* device = find_device(handle);
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (name == nullptr || length <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::snprintf(name, static_cast<size_t>(length), "%s", device->name.c_str());
  return CUDA_SUCCESS;
}

// The same in all processes of the box, different between boxes.
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice handle) {
  const DeviceInfo* device = find_device(handle);
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (uuid == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t high = mix(topology().digest ^ static_cast<uint64_t>(device->ordinal));
  const uint64_t words[2] = {high, mix(high)};
  std::memcpy(uuid->bytes, words, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice handle) {
  const DeviceInfo* device = find_device(handle);
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (bytes == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *bytes = device->memory_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice handle) {
  const DeviceInfo* device = find_device(handle);
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (major == nullptr || minor == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *major = device->compute_capability / 10;
  *minor = device->compute_capability % 10;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice handle) {
  const DeviceInfo* device = find_device(handle);
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (text == nullptr || length <= static_cast<int>(device->bus_id.size())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::snprintf(text, static_cast<size_t>(length), "%s", device->bus_id.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* text) {
  BusAddress wanted;
  if (out == nullptr || text == nullptr || !parse_bus_id(text, &wanted)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const DeviceInfo& device : devices()) {
    BusAddress address;
    if (parse_bus_id(device.bus_id.c_str(), &address) && address == wanted) {
      *out = device.ordinal;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (can == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (find_device(device) == nullptr || find_device(peer) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *can = can_access_peer(device, peer) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source,
                                 CUdevice destination) {
  const DeviceInfo* from = find_device(source);
  const DeviceInfo* to = find_device(destination);
  if (from == nullptr || to == nullptr || from == to) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (value == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool reachable = can_access_peer(source, destination);
  const bool nvlink = reachable && joined_by_nvlink(*from, *to);
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      *value = nvlink ? 0 : 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      *value = reachable ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      *value = nvlink ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace braid::vgpu::driver
