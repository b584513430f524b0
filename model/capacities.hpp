// What a link of a box is taken to carry, each way. The only place where such numbers stand.
//
// Source of all of them: NCCL 2.28.9's own model (src/graph/topo.h:16-36 and the PCIe table in
// topo.cc), so that stock's decisions come out as they do in a job. They are NCCL's assumptions,
// not measurements: a real inter-socket link carries more.
#pragma once

#include <cstdint>

#include "model/topology.hpp"

namespace braid::model {

/// Bandwidths of the model are whole MB/s: NCCL rounds to thousandths of a GB/s as it takes links
/// up, and whole numbers make that exact.
using Mbps = int64_t;

/// A link inside one device or CPU: never the bottleneck.
inline constexpr Mbps kLocalMbps = 5'000'000;

/// Up to this ring bandwidth NCCL runs its Simple ring with half the threads (PCIe 3 x16).
inline constexpr Mbps kSlowRingMbps = 12'000;

/// PCIe link of a device: 12 GB/s for 8 GT/s x16, 24 for 16 GT/s, 48 for 32 GT/s. What the file
/// leaves open counts as 8 GT/s and x16.
Mbps pcie_mbps(const PciNode& node);

/// One NVLink of a GPU of this compute capability (86).
Mbps nvlink_mbps(int compute_capability);

/// Between this CPU's NUMA node and any other of the host (UPI, QPI, xGMI …).
Mbps socket_mbps(const Cpu& cpu);

/// GPU-to-GPU transfers through an Intel root complex are cut into small packets there and take 6/5
/// of their size on PCIe.
inline constexpr Mbps with_intel_overhead(Mbps bandwidth) { return bandwidth * 6 / 5; }

bool is_intel(const Cpu& cpu);
bool is_amd(const Cpu& cpu);

}  // namespace braid::model
