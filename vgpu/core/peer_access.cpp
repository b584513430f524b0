#include "vgpu/core/peer_access.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "vgpu/core/box.hpp"
#include "vgpu/core/memory.hpp"

namespace braid::vgpu {
namespace {

constexpr uint64_t kHandleMagic = 0x6d656d6761726276;

struct WireHandle {
  uint64_t magic;
  uint64_t base;
  uint64_t id;
  int32_t pid;
  int32_t device;
};
static_assert(sizeof(WireHandle) <= sizeof(CUipcMemHandle));

struct Opened {
  uint64_t id = 0;
  int count = 0;
  std::set<int> devices;  // whose contexts opened it
};

struct PeerTable {
  std::mutex mutex;
  std::set<std::pair<int, int>> enabled;  // (device, peer)
  std::map<uint64_t, Opened> opened;      // by base
};

PeerTable& peers() {
  static PeerTable& instance = *new PeerTable;
  return instance;
}

bool is_pair(int device, int peer) {
  const auto count = static_cast<int>(devices().size());
  return device >= 0 && peer >= 0 && device < count && peer < count && device != peer;
}

}  // namespace

bool may_access(int device, const Allocation& allocation, bool mine) {
  const bool same_device = allocation.device == device;
  if (mine && (same_device || allocation.kind == MemoryKind::kManaged)) {
    return true;
  }
  PeerTable& table = peers();
  const std::lock_guard lock(table.mutex);
  if (mine) {
    return table.enabled.count({device, allocation.device}) != 0;
  }
  const auto found = table.opened.find(allocation.base);
  if (found == table.opened.end() || found->second.id != allocation.id) {
    return false;
  }
  return same_device || found->second.devices.count(device) != 0;
}

bool is_opened(uint64_t base, uint64_t id) {
  PeerTable& table = peers();
  const std::lock_guard lock(table.mutex);
  const auto found = table.opened.find(base);
  return found != table.opened.end() && found->second.id == id;
}

bool can_access_peer(int device, int peer) {
  if (!is_pair(device, peer)) {
    return false;
  }
  // Devices of one host reach each other; hosts do not.
  const model::Topology& box_topology = topology();
  const auto host_of = [&](int ordinal) {
    const int cpu = box_topology.gpus[static_cast<size_t>(devices()[ordinal].topology_index)].cpu;
    return cpu < 0 ? 0 : box_topology.cpus[static_cast<size_t>(cpu)].host;
  };
  return host_of(device) == host_of(peer);
}

CUresult enable_peer_access(int device, int peer) {
  if (!can_access_peer(device, peer)) {
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  const std::lock_guard lock(peers().mutex);
  return peers().enabled.insert({device, peer}).second ? CUDA_SUCCESS
                                                       : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult disable_peer_access(int device, int peer) {
  const std::lock_guard lock(peers().mutex);
  return peers().enabled.erase({device, peer}) != 0 ? CUDA_SUCCESS
                                                    : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult export_allocation(uint64_t address, CUipcMemHandle* handle) {
  const auto allocation = find_allocation(address);
  if (handle == nullptr || !allocation || allocation->kind != MemoryKind::kDevice ||
      context_of_allocation(allocation->base) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const WireHandle wire{kHandleMagic, allocation->base, allocation->id, this_process().pid,
                        allocation->device};
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &wire, sizeof(wire));
  return CUDA_SUCCESS;
}

CUresult open_allocation(int device, const CUipcMemHandle& handle, uint64_t* address) {
  WireHandle wire{};
  std::memcpy(&wire, &handle, sizeof(wire));
  if (wire.magic != kHandleMagic || address == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (wire.pid == this_process().pid) {
    return CUDA_ERROR_INVALID_CONTEXT;  // a process does not open what it exported
  }
  if (box().session->is_private()) {
    report_once(
        "an IPC memory handle of another process cannot be opened in a private session; "
        "set BRAID_VGPU_SESSION to one folder for all processes");
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto allocation = find_allocation(wire.base);
  if (!allocation || allocation->base != wire.base || allocation->id != wire.id) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(peers().mutex);
  Opened& opened = peers().opened[wire.base];
  if (opened.id != wire.id) {
    opened = {wire.id, 0, {}};
  }
  ++opened.count;
  opened.devices.insert(device);
  *address = wire.base;
  return CUDA_SUCCESS;
}

CUresult close_allocation(uint64_t address) {
  const std::lock_guard lock(peers().mutex);
  const auto found = peers().opened.find(address);
  if (found == peers().opened.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (--found->second.count == 0) {
    peers().opened.erase(found);
  }
  return CUDA_SUCCESS;
}

}  // namespace braid::vgpu
