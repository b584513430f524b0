// What a virtual GPU of a given compute capability is: name, SM count, memory.
#pragma once

#include <cstddef>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

struct DeviceModel {
  int compute_capability;  // as the topology file's `sm`: 86
  const char* name;
  int sm_count;
  size_t memory_gib;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int shared_bytes_per_sm;
  int threads_per_sm;
};

/// The model of that compute capability; the nearest older one (the oldest at worst) when there is
/// none. Figures: the vendor's data sheets and the CUDA programming guide's table of compute
/// capabilities.
BRAID_VGPU_API const DeviceModel& find_device_model(int compute_capability);

}  // namespace braid::vgpu
