// The GPUs of this machine, by NVML.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace braid::cli {

struct LiveGpu {
  std::string name, bus_id;
  int compute_capability = 0;  // 86
  uint64_t memory_bytes = 0;
  std::vector<std::string> nvlink_targets;  // bus id at the other end of each active NVLink
};

struct LiveGpus {
  std::vector<LiveGpu> gpus;  // in NVML order
  std::string driver;         // "580.65.06"
  std::string library;        // path of the libnvidia-ml.so.1 that answered
  std::string reason;         // why there is none
};

/// Asks libnvidia-ml.so.1, found by soname. Without it or without a GPU, `reason` says why.
LiveGpus probe_live_gpus();

}  // namespace braid::cli
