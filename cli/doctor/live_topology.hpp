// This machine as an NCCL topology file, from NVML and the kernel's own description.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/live_gpus.hpp"
#include "config/result.hpp"

namespace braid::cli {

/// XML in the form of NCCL_TOPO_DUMP_FILE: CPUs, PCIe switches, GPUs and their NVLinks (no NICs).
/// `root` stands before /sys and /proc ("" on a real machine). As NCCL does, only every second PCI
/// level above a GPU is kept: the upstream ports of switches. Errors name the file that is missing.
Result<std::string> live_topology_xml(const std::vector<LiveGpu>& gpus, const std::string& root);

}  // namespace braid::cli
