// What this machine's kernel says that matters for GPU-to-GPU traffic.
#pragma once

#include <string>
#include <vector>

#include "cli/launch/environment_block.hpp"

namespace braid::cli {

/// One finding. `concern`: it may slow peer-to-peer copies down or change how jobs run.
struct SystemHint {
  std::string name;   // "IOMMU"
  std::string value;  // "on (dmar0, dmar1)"
  bool concern = false;
  std::string advice;
};

/// IOMMU, PCIe access control (ACS), MPS, size of /dev/shm.
std::vector<SystemHint> read_system_hints(const EnvironmentBlock& environment);

/// Whether a PCIe configuration space (4096 bytes) has access control redirecting peer traffic.
enum class AcsState { kUnreadable, kAbsent, kOff, kRedirects };
AcsState acs_state(const std::string& configuration);

}  // namespace braid::cli
