// Figures of a GPU model that the cost models need, each with its source (config/gpus.toml).
#pragma once

#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::model {

struct GpuModel {
  std::string name;            // "A6000"
  std::vector<std::string> aliases;  // "NVIDIA RTX A6000", …
  int compute_capability = 86;
  int sm_count = 0;
  double memory_gib = 0;
  double memory_gbps = 0;
  double fp32_tflops = 0, tf32_tflops = 0, fp16_tflops = 0, bf16_tflops = 0, fp64_tflops = 0;
  double sustained_fraction = 0;  // of the peak that a large GEMM reaches
  double launch_us = 0;           // host time of one launch
  double kernel_start_us = 0;     // device time from one kernel's end to the next one's start
  std::string source;
};

/// Built-in table (config/gpus.toml, compiled in).
const std::vector<GpuModel>& gpu_models();
/// By name or alias, case-insensitive; the error lists the known names.
Result<GpuModel> find_gpu_model(const std::string& name);

}  // namespace braid::model
