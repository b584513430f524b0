// Memory of this process: device, pinned, registered and managed; who may touch what.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "vgpu/core/stream.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

/// Allocates in the heap of the context's device. Freed with the context at the latest.
BRAID_VGPU_API CUresult allocate_device(Context& context, size_t bytes, MemoryKind kind,
                                        uint64_t* address);
/// cuMemFree: waits for all work of the allocation's device in this process, then frees. Bad and
/// already freed addresses: CUDA_ERROR_INVALID_VALUE.
BRAID_VGPU_API CUresult free_device(uint64_t address);
/// Frees at once; for stream-ordered freeing, on the executor thread.
CUresult free_device_now(uint64_t address);
/// The device memory a context still holds is freed when it ends.
void free_context_memory(const Context& context);

BRAID_VGPU_API CUresult allocate_pinned(size_t bytes, unsigned flags, void** address);
BRAID_VGPU_API CUresult free_pinned(void* address);
BRAID_VGPU_API CUresult register_host(void* address, size_t bytes, unsigned flags);
BRAID_VGPU_API CUresult unregister_host(void* address);

/// Free and total bytes of a device; memory of processes that are gone counts as free.
BRAID_VGPU_API void memory_info(int device, size_t* free, size_t* total);

/// Pinned or registered host memory and the flags it was made with.
struct HostRange {
  uint64_t base = 0;
  size_t bytes = 0;
  unsigned flags = 0;
  bool registered = false;  // by cuMemHostRegister
  uint64_t id = 0;
};
BRAID_VGPU_API std::optional<HostRange> find_host_range(uint64_t address);

/// The context that allocated device memory in this process; nullptr when another process did.
BRAID_VGPU_API Context* context_of_allocation(uint64_t base);

BRAID_VGPU_API bool can_access_peer(int device, int peer);
BRAID_VGPU_API CUresult enable_peer_access(int device, int peer);
BRAID_VGPU_API CUresult disable_peer_access(int device, int peer);

/// What lies at an address, for the copy functions.
enum class Place { kDevice, kPinned, kPageable };
struct Location {
  Place place = Place::kPageable;
  int device = -1;  // kDevice
  bool is_valid =
      true;  // false: inside a device's address range, but no live memory holds all bytes
};
BRAID_VGPU_API Location locate(const void* address, size_t bytes);

/// IPC: the handle carries address and id, since memory has the same address everywhere.
BRAID_VGPU_API CUresult export_allocation(uint64_t address, CUipcMemHandle* handle);
BRAID_VGPU_API CUresult open_allocation(int device, const CUipcMemHandle& handle,
                                        uint64_t* address);
BRAID_VGPU_API CUresult close_allocation(uint64_t address);

}  // namespace braid::vgpu
