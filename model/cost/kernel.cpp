#include "model/cost/kernel.hpp"

#include <algorithm>

namespace braid::model {
namespace {

// Estimates, as no measurement is at hand: streaming kernels reach about 85% of the peak bandwidth,
// and roughly 40% of the SMs suffice for that.
constexpr double kMemoryEfficiency = 0.85;
constexpr double kSaturatingFraction = 0.4;
constexpr double kBytesAThread = 16;
constexpr double kLeastWaveUs = 1.0;     // a block that does next to nothing
constexpr double kCopyStartUs = 1.5;     // copy engine
constexpr double kUnknownLinkGbps = 12;  // PCIe 3 x16, as NCCL takes where a file has no link speed

int threads_an_sm(int compute_capability) {
  // CUDA programming guide, "Maximum number of resident threads per SM".
  switch (compute_capability) {
    case 75:
      return 1024;
    case 86:
    case 87:
    case 89:
    case 120:
      return 1536;
    default:
      return 2048;
  }
}

}  // namespace

double memory_time_us(const GpuModel& gpu, double bytes) {
  return bytes / (gpu.memory_gbps * 1e3 * kMemoryEfficiency);
}

int memory_saturating_sms(const GpuModel& gpu) {
  return std::max(1, static_cast<int>(gpu.sm_count * kSaturatingFraction));
}

KernelCost kernel_cost(const GpuModel& gpu, const trace::Kernel& kernel) {
  const double threads =
      std::max(1.0, static_cast<double>(kernel.block[0]) * kernel.block[1] * kernel.block[2]);
  const double blocks =
      std::max(1.0, static_cast<double>(kernel.grid[0]) * kernel.grid[1] * kernel.grid[2]);
  const double resident = std::clamp(threads_an_sm(gpu.compute_capability) / threads, 1.0, 16.0);
  KernelCost cost;
  cost.guessed = kernel.bytes == 0;
  const double bytes =
      cost.guessed ? blocks * threads * kBytesAThread : static_cast<double>(kernel.bytes);
  cost.compute.blocks =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::min(blocks / resident, 1e15)));
  cost.compute.wave_us = kLeastWaveUs;
  cost.compute.memory_us = memory_time_us(gpu, bytes);
  cost.compute.memory_sms = memory_saturating_sms(gpu);
  cost.compute.fixed_us = gpu.kernel_start_us;
  return cost;
}

double copy_time_us(const GpuModel& gpu, const trace::Copy& copy, double pcie_gbps,
                    double peer_gbps) {
  const double bytes = static_cast<double>(copy.bytes);
  const double pcie = pcie_gbps > 0 ? pcie_gbps : kUnknownLinkGbps;
  switch (static_cast<trace::CopyKind>(copy.kind)) {
    case trace::CopyKind::kHostToDevice:
    case trace::CopyKind::kDeviceToHost:
      return kCopyStartUs + bytes / (pcie * 1e3);
    case trace::CopyKind::kPeer:
      return kCopyStartUs + bytes / ((peer_gbps > 0 ? peer_gbps : pcie) * 1e3);
    case trace::CopyKind::kDeviceToDevice:
      return gpu.kernel_start_us + memory_time_us(gpu, 2 * bytes);
    case trace::CopyKind::kMemset:
      return gpu.kernel_start_us + memory_time_us(gpu, bytes);
  }
  return kCopyStartUs;
}

}  // namespace braid::model
