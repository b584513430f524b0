// Which device may touch another device's or another process's memory.
#pragma once

#include <cstdint>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

/// `mine`: this process made the allocation.
bool may_access(int device, const Allocation& allocation, bool mine);

/// Another process's allocation that this one opened by an IPC handle.
bool is_opened(uint64_t base, uint64_t id);

}  // namespace braid::vgpu
