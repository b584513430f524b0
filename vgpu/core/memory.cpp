#include "vgpu/core/memory.hpp"

#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "vgpu/core/box.hpp"
#include "vgpu/core/context_table.hpp"
#include "vgpu/core/executor.hpp"
#include "vgpu/core/peer_access.hpp"
#include "vgpu/core/process.hpp"

namespace braid::vgpu {
namespace {

constexpr size_t kPageBytes = 4096;

struct HostRegistry {
  std::shared_mutex mutex;
  std::map<uint64_t, HostRange> ranges;  // by base
  uint64_t next_id = 1;
};

HostRegistry& host_registry() {
  static HostRegistry& instance = *new HostRegistry;
  return instance;
}

// Which context allocated what, for freeing with the context.
struct Owners {
  std::mutex mutex;
  std::map<uint64_t, Context*> by_base;
};

Owners& owners() {
  static Owners& instance = *new Owners;
  return instance;
}

// Memory of the session's file system is used when it is touched; a full one would end the process
// with SIGBUS. Asking before is not a guarantee, but turns the common case into an error.
bool has_room(int device, size_t bytes) {
  if (!compute_enabled()) {
    return true;
  }
  const auto fd = box().session->open_file("gpu" + std::to_string(device), 0);
  struct statvfs status {};
  if (!fd || fstatvfs(*fd, &status) != 0 || status.f_blocks == 0) {
    return true;
  }
  const uint64_t room = static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
  if (bytes <= room) {
    return true;
  }
  report_once("an allocation of " + std::to_string(bytes) + " bytes fails: " +
              box().session->describe() + " has " + std::to_string(room) + " bytes left");
  return false;
}

}  // namespace

CUresult allocate_device(Context& context, size_t bytes, MemoryKind kind, uint64_t* address) {
  const int device = context.device();
  if (const CUresult error = device_error(device); error != CUDA_SUCCESS) {
    return error;
  }
  if (bytes != 0 && !has_room(device, bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult result = box().heaps[static_cast<size_t>(device)]->allocate(bytes, kind, address);
  if (result == CUDA_SUCCESS) {
    const std::lock_guard lock(owners().mutex);
    owners().by_base[*address] = &context;
  }
  return result;
}

CUresult free_device_now(uint64_t address) {
  Heap* heap = heap_of(address);
  if (heap == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return heap->free(address, [](const Allocation& allocation) {
    const std::lock_guard lock(owners().mutex);
    owners().by_base.erase(allocation.base);
  });
}

CUresult free_device(uint64_t address) {
  if (address == 0) {
    return CUDA_SUCCESS;
  }
  const auto allocation = find_allocation(address);
  if (!allocation || allocation->base != address || allocation->kind == MemoryKind::kPinnedHost) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult pending = synchronize_device(allocation->device);
  const CUresult result = free_device_now(address);
  return pending != CUDA_SUCCESS ? pending : result;
}

void free_context_memory(const Context& context) {
  std::vector<uint64_t> held;
  {
    const std::lock_guard lock(owners().mutex);
    for (const auto& [base, owner] : owners().by_base) {
      if (owner == &context) {
        held.push_back(base);
      }
    }
  }
  for (const uint64_t base : held) {
    free_device_now(base);
  }
}

Context* context_of_allocation(uint64_t base) {
  const std::lock_guard lock(owners().mutex);
  const auto found = owners().by_base.find(base);
  return found == owners().by_base.end() ? nullptr : found->second;
}

void memory_info(int device, size_t* free, size_t* total) {
  Heap& heap = *box().heaps[static_cast<size_t>(device)];
  *free = heap.free_bytes();
  *total = heap.capacity();
}

CUresult allocate_pinned(size_t bytes, unsigned flags, void** address) {
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* mapped = rounded < bytes ? MAP_FAILED
                                 : mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  HostRegistry& registry = host_registry();
  const std::unique_lock lock(registry.mutex);
  const auto base = reinterpret_cast<uint64_t>(mapped);
  registry.ranges[base] = {base, bytes, flags, false, registry.next_id++};
  *address = mapped;
  return CUDA_SUCCESS;
}

CUresult free_pinned(void* address) {
  if (address == nullptr) {
    return CUDA_SUCCESS;
  }
  // As the real driver: work that may still use the memory ends first.
  const auto range = find_host_range(reinterpret_cast<uint64_t>(address));
  if (!range || range->registered || range->base != reinterpret_cast<uint64_t>(address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const DeviceInfo& device : devices()) {
    if (!contexts_of(device.ordinal).empty()) {
      synchronize_device(device.ordinal);
    }
  }
  HostRegistry& registry = host_registry();
  const std::unique_lock lock(registry.mutex);
  if (registry.ranges.erase(range->base) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  munmap(address, (range->bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
  return CUDA_SUCCESS;
}

CUresult register_host(void* address, size_t bytes, unsigned flags) {
  const auto base = reinterpret_cast<uint64_t>(address);
  if (address == nullptr || bytes == 0 || base + bytes < base) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HostRegistry& registry = host_registry();
  const std::unique_lock lock(registry.mutex);
  auto next = registry.ranges.lower_bound(base);
  const bool overlaps_next = next != registry.ranges.end() && next->first < base + bytes;
  const bool overlaps_previous =
      next != registry.ranges.begin() &&
      std::prev(next)->second.base + std::prev(next)->second.bytes > base;
  if (overlaps_next || overlaps_previous) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  registry.ranges[base] = {base, bytes, flags, true, registry.next_id++};
  return CUDA_SUCCESS;
}

CUresult unregister_host(void* address) {
  HostRegistry& registry = host_registry();
  const std::unique_lock lock(registry.mutex);
  const auto found = registry.ranges.find(reinterpret_cast<uint64_t>(address));
  if (found == registry.ranges.end() || !found->second.registered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  registry.ranges.erase(found);
  return CUDA_SUCCESS;
}

std::optional<HostRange> find_host_range(uint64_t address) {
  HostRegistry& registry = host_registry();
  const std::shared_lock lock(registry.mutex);
  auto next = registry.ranges.upper_bound(address);
  if (next == registry.ranges.begin()) {
    return std::nullopt;
  }
  const HostRange& range = std::prev(next)->second;
  return address - range.base < range.bytes ? std::optional(range) : std::nullopt;
}

std::optional<Allocation> find_allocation(uint64_t address) {
  if (is_fork_child()) {
    return std::nullopt;
  }
  if (Heap* heap = heap_of(address)) {
    bool mine = false;
    return heap->find(address, &mine);
  }
  if (const auto range = find_host_range(address)) {
    return Allocation{range->base, range->bytes, current_device(), MemoryKind::kPinnedHost,
                      range->id};
  }
  return std::nullopt;
}

CUresult check_access(int device, const void* pointer, size_t bytes) {
  if (is_fork_child()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (bytes == 0) {
    return CUDA_SUCCESS;
  }
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (Heap* heap = heap_of(address)) {
    bool mine = false;
    const auto allocation = heap->find(address, &mine);
    if (!allocation || bytes > allocation->bytes - (address - allocation->base)) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    return may_access(device, *allocation, mine) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  const auto range = find_host_range(address);
  return range && bytes <= range->bytes - (address - range->base) ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_ILLEGAL_ADDRESS;
}

Location locate(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (Heap* heap = heap_of(address)) {
    bool mine = false;
    const auto allocation = heap->find(address, &mine);
    const bool fits = allocation && bytes <= allocation->bytes - (address - allocation->base) &&
                      (mine || is_opened(allocation->base, allocation->id));
    return {Place::kDevice, allocation ? allocation->device : -1, fits};
  }
  const auto range = find_host_range(address);
  const bool pinned = range && bytes <= range->bytes - (address - range->base);
  return {pinned ? Place::kPinned : Place::kPageable, -1, pointer != nullptr};
}

}  // namespace braid::vgpu
