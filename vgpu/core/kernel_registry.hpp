// Host implementations of kernels, by device symbol.
//
// The tables come from shared libraries that export `braid_host_kernels`
// (vgpu/kernels/host_kernel.h), opened at the first look-up, in this order; the first table that
// has a name wins:
//   1. every library named in BRAID_VGPU_KERNEL_PATH (colon list),
//   2. "*.braid-kernels.so" beside the executable,
//   3. "*.braid-kernels.so" beside libbraid-vgpu.so. What braid itself ships (vgpu/kernels) is such
//   a
//      library and has no other way in.
// A library that cannot be opened, has another ABI number or no table is named once on stderr.
#pragma once

#include <optional>
#include <string>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/kernels/host_kernel.h"

namespace braid::vgpu {

/// The implementation of a device symbol (mangled name), or nullptr. Any thread.
BRAID_VGPU_API const braid_host_kernel* find_host_kernel(const std::string& name);

/// Adds a table of this process in front of all others (tests, programs that link their own). The
/// table must outlive the process. Errors: wrong ABI number; `origin` names it in messages.
BRAID_VGPU_API Status add_host_kernels(const braid_host_kernel_table* table,
                                       const std::string& origin);

}  // namespace braid::vgpu
