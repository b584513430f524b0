// Time of kernels that are not GEMMs, and of copies.
#pragma once

#include "model/cost/compute.hpp"
#include "model/gpu.hpp"
#include "model/trace_format.hpp"

namespace braid::model {

/// Time to move `bytes` through device memory at the rate streaming kernels reach.
double memory_time_us(const GpuModel& gpu, double bytes);

/// SMs that together saturate the device memory.
int memory_saturating_sms(const GpuModel& gpu);

struct KernelCost {
  ComputeCost compute;
  bool guessed = false;  // its bytes were unknown and derived from the number of threads
};

/// Roofline of a memory-bound kernel. Where the recorder knew no bytes, each thread is taken to
/// touch 16, the width of one vector access, and the result is marked as guessed.
KernelCost kernel_cost(const GpuModel& gpu, const trace::Kernel& kernel);

/// Time of a copy or memset on a copy engine or in memory. `pcie_gbps` is the host link's rate and
/// `peer_gbps` the best rate to another GPU; 0: unknown, PCIe 3 x16 is taken.
double copy_time_us(const GpuModel& gpu, const trace::Copy& copy, double pcie_gbps,
                    double peer_gbps);

}  // namespace braid::model
