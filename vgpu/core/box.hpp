// The virtual box of this process: its devices, their heaps and the session they live in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vgpu/core/heap.hpp"
#include "vgpu/core/session.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

struct Box {
  model::Topology topology;
  std::vector<DeviceInfo> devices;
  Session* session = nullptr;
  std::vector<std::unique_ptr<Heap>> heaps;  // by ordinal
  std::optional<Error> error;                // then devices and heaps are empty
};

/// Made at the first call (any thread) from BRAID_VGPU_TOPOLOGY and BRAID_VGPU_SESSION, and never
/// destroyed: work may still run while the process exits.
const Box& box();

/// The heap that spans the address (allocated or not), or nullptr.
Heap* heap_of(uint64_t address);

/// First address and distance of the devices' memory. Device i's memory starts at base + i ·
/// stride.
struct HeapLayout {
  uint64_t base = 0;
  uint64_t stride = 0;
};
/// The layout for `count` devices of that size: the same in every process of the session, and
/// inside the address range ThreadSanitizer lets a program use when it fits there. Errors: too
/// large.
Result<HeapLayout> heap_layout(int count, uint64_t bytes_per_device);

}  // namespace braid::vgpu
