#include "vgpu/core/device_models.hpp"

namespace braid::vgpu {
namespace {

constexpr int kKiB = 1024;
constexpr int kMiB = 1024 * 1024;

// Ascending compute capability. One card stands for its generation's multi-GPU boxes.
constexpr DeviceModel kModels[] = {
    {70, "Tesla V100-SXM2-32GB", 80, 32, 1530000, 877000, 4096, 6 * kMiB, 96 * kKiB, 2048},
    {75, "Tesla T4", 40, 16, 1590000, 5001000, 256, 4 * kMiB, 64 * kKiB, 1024},
    {80, "NVIDIA A100-PCIE-40GB", 108, 40, 1410000, 1215000, 5120, 40 * kMiB, 164 * kKiB, 2048},
    {86, "NVIDIA RTX A6000", 84, 48, 1800000, 8001000, 384, 6 * kMiB, 100 * kKiB, 1536},
    {89, "NVIDIA L40S", 142, 48, 2520000, 9001000, 384, 96 * kMiB, 100 * kKiB, 1536},
    {90, "NVIDIA H100 80GB HBM3", 132, 80, 1980000, 2619000, 5120, 50 * kMiB, 228 * kKiB, 2048},
    {100, "NVIDIA B200", 148, 180, 1965000, 3996000, 8192, 126 * kMiB, 228 * kKiB, 2048},
    {120, "NVIDIA RTX PRO 6000 Blackwell Server Edition", 188, 96, 2430000, 12481000, 512,
     128 * kMiB, 100 * kKiB, 1536},
};

}  // namespace

const DeviceModel& find_device_model(int compute_capability) {
  const DeviceModel* best = &kModels[0];
  for (const DeviceModel& model : kModels) {
    if (model.compute_capability <= compute_capability) {
      best = &model;
    }
  }
  return *best;
}

}  // namespace braid::vgpu
