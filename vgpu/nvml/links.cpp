// How devices hang together: NVLinks, peer access, PCIe.
#include <cuda.h>

#include <vector>

#include "vgpu/nvml/library.hpp"

using namespace braid::vgpu::nvml;
using braid::vgpu::DeviceInfo;
namespace model = braid::model;

namespace {

constexpr uint32_t kNvSwitchClass = 0x068000;

const model::Gpu& gpu_of(const DeviceInfo& device) {
  return braid::vgpu::topology().gpus[static_cast<size_t>(device.topology_index)];
}

const model::PciNode& pci_node_of(const DeviceInfo& device) {
  return braid::vgpu::topology().pci_nodes[static_cast<size_t>(gpu_of(device).pci_node)];
}

/// The bundle that link number `link` of the device belongs to; nullptr when that link is not used.
const model::NvLink* find_link(const DeviceInfo& device, unsigned link) {
  unsigned first = 0;
  for (const model::NvLink& bundle : gpu_of(device).nvlinks) {
    first += static_cast<unsigned>(bundle.count);
    if (link < first) {
      return &bundle;
    }
  }
  return nullptr;
}

bool joined_by_nvlink(const DeviceInfo& from, const DeviceInfo& to) {
  bool from_switch = false;
  bool to_switch = false;
  for (const model::NvLink& bundle : gpu_of(from).nvlinks) {
    if (bundle.target_gpu == to.topology_index) {
      return true;
    }
    from_switch = from_switch || bundle.target_class == kNvSwitchClass;
  }
  for (const model::NvLink& bundle : gpu_of(to).nvlinks) {
    to_switch = to_switch || bundle.target_class == kNvSwitchClass;
  }
  return from_switch && to_switch;
}

/// The PCI nodes from the device's own up to its CPU's port.
std::vector<int> path_up(const DeviceInfo& device) {
  std::vector<int> path;
  for (int node = gpu_of(device).pci_node; node >= 0;
       node = braid::vgpu::topology().pci_nodes[static_cast<size_t>(node)].parent) {
    path.push_back(node);
  }
  return path;
}

nvmlGpuTopologyLevel_t common_ancestor(const DeviceInfo& first, const DeviceInfo& second) {
  if (first.ordinal == second.ordinal) {
    return NVML_TOPOLOGY_INTERNAL;
  }
  const std::vector<int> up = path_up(first);
  const std::vector<int> other = path_up(second);
  for (size_t i = 0; i < up.size(); ++i) {
    for (size_t j = 0; j < other.size(); ++j) {
      if (up[i] == other[j]) {
        return i <= 1 && j <= 1 ? NVML_TOPOLOGY_SINGLE : NVML_TOPOLOGY_MULTIPLE;
      }
    }
  }
  return gpu_of(first).cpu == gpu_of(second).cpu ? NVML_TOPOLOGY_HOSTBRIDGE : NVML_TOPOLOGY_SYSTEM;
}

/// PCIe generation of a lane rate in GT/s: 2.5, 5, 8, 16, 32, 64.
unsigned generation_of(double link_speed_gts) {
  unsigned generation = 1;
  for (double rate = 4.0; rate < link_speed_gts; rate *= 2) {
    ++generation;
  }
  return generation;
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t handle, unsigned int link,
                                               unsigned int* active) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, active, &device);
  if (result != NVML_SUCCESS || link >= kNvmlMaxNvLinks) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  if (gpu_of(*device).nvlinks.empty()) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  *active = find_link(*device, link) != nullptr ? 1 : 0;
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t handle, unsigned int link,
                                                    nvmlNvLinkCapability_t capability,
                                                    unsigned int* supported) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, supported, &device);
  if (result != NVML_SUCCESS || link >= kNvmlMaxNvLinks ||
      capability < NVML_NVLINK_CAP_P2P_SUPPORTED || capability > NVML_NVLINK_CAP_VALID) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  const model::NvLink* bundle = find_link(*device, link);
  if (bundle == nullptr) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  *supported = capability == NVML_NVLINK_CAP_P2P_SUPPORTED ||
                       capability == NVML_NVLINK_CAP_P2P_ATOMICS ||
                       capability == NVML_NVLINK_CAP_VALID
                   ? 1
                   : 0;
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t handle, unsigned int link,
                                                          nvmlPciInfo_t* info) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, info, &device);
  if (result != NVML_SUCCESS || link >= kNvmlMaxNvLinks) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  const model::NvLink* bundle = find_link(*device, link);
  if (bundle == nullptr) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  return fill_pci_info(bundle->target_bus_id.c_str(), info) ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t handle, unsigned int link,
                                                       nvmlPciInfo_t* info) {
  return nvmlDeviceGetNvLinkRemotePciInfo_v2(handle, link, info);
}

NVML_API nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second,
                                             nvmlGpuP2PCapsIndex_t index,
                                             nvmlGpuP2PStatus_t* status) {
  const DeviceInfo* from = nullptr;
  const nvmlReturn_t result = check_call(first, status, &from);
  const DeviceInfo* to = find_device(second);
  if (result != NVML_SUCCESS || to == nullptr || index < NVML_P2P_CAPS_INDEX_READ ||
      index > NVML_P2P_CAPS_INDEX_PCI) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  const bool nvlink = joined_by_nvlink(*from, *to);
  int reachable = 0;
  if (cuInit(0) != CUDA_SUCCESS ||
      cuDeviceCanAccessPeer(&reachable, from->ordinal, to->ordinal) != CUDA_SUCCESS) {
    return NVML_ERROR_UNKNOWN;
  }
  bool supported = reachable != 0;
  switch (index) {
    case NVML_P2P_CAPS_INDEX_READ:
    case NVML_P2P_CAPS_INDEX_WRITE:
      break;
    case NVML_P2P_CAPS_INDEX_NVLINK:
    case NVML_P2P_CAPS_INDEX_ATOMICS:
      supported = supported && nvlink;
      break;
    case NVML_P2P_CAPS_INDEX_PCI:
      supported = supported && !nvlink;
      break;
  }
  *status = supported ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                          nvmlGpuTopologyLevel_t* level) {
  const DeviceInfo* from = nullptr;
  const nvmlReturn_t result = check_call(first, level, &from);
  const DeviceInfo* to = find_device(second);
  if (result != NVML_SUCCESS || to == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  *level = common_ancestor(*from, *to);
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t handle,
                                                         unsigned int* generation) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, generation, &device);
  if (result != NVML_SUCCESS) {
    return result;
  }
  if (pci_node_of(*device).link_speed_gts <= 0) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  *generation = generation_of(pci_node_of(*device).link_speed_gts);
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t handle,
                                                          unsigned int* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(handle, generation);
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t handle, unsigned int* width) {
  const DeviceInfo* device = nullptr;
  const nvmlReturn_t result = check_call(handle, width, &device);
  if (result != NVML_SUCCESS) {
    return result;
  }
  if (pci_node_of(*device).link_width <= 0) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  *width = static_cast<unsigned>(pci_node_of(*device).link_width);
  return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t handle, unsigned int* width) {
  return nvmlDeviceGetMaxPcieLinkWidth(handle, width);
}
