// Figures of a GPU model that the cost models need, each with its source (config/gpus.toml).
#pragma once

#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/trace_format.hpp"

namespace braid::model {

struct GpuModel {
  std::string name;                  // "A6000"
  std::vector<std::string> aliases;  // "NVIDIA RTX A6000", …
  int compute_capability = 86;
  int sm_count = 0;
  double memory_gib = 0;
  double memory_gbps = 0;
  // Dense peaks with fp32 accumulation; 0: no such unit, the type runs at the fp32 rate.
  double fp32_tflops = 0, tf32_tflops = 0, fp16_tflops = 0, bf16_tflops = 0, fp64_tflops = 0;
  double sustained_fraction = 0;    // of the peak that a large GEMM reaches
  double launch_us = 0;             // host time of one launch
  double collective_launch_us = 0;  // host time of one NCCL call
  double kernel_start_us = 0;       // device time from one kernel's end to the next one's start
  std::string source;

  /// Dense peak for operands of this type. 8-bit types count as fp16, as nothing is known of them
  /// here; integers as fp32.
  double peak_tflops(trace::ElementType type) const;
};

/// Built-in table (config/gpus.toml, compiled in).
const std::vector<GpuModel>& gpu_models();
/// By name or alias, case-insensitive; blanks, '-' and '_' count as equal. The error lists the
/// known names.
Result<GpuModel> find_gpu_model(const std::string& name);
/// All models of a compute capability (86), in table order; empty when there is none.
std::vector<const GpuModel*> gpu_models_with_capability(int compute_capability);
/// Reads a table in the form of config/gpus.toml. Errors name `path`, line and key.
Result<std::vector<GpuModel>> read_gpu_table(const std::string& text, const std::string& path);

}  // namespace braid::model
