#include "vgpu/cublas/gemm/kernel_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "vgpu/cublas/gemm/types.hpp"

namespace braid::vgpu::gemm {
namespace {

constexpr std::array kCudaCoreTiles = {
    Tile{CUBLASLT_MATMUL_TILE_128x128, 128, 128, 1, CUBLASLT_MATMUL_STAGES_8x5, "8x5", 0.95},
    Tile{CUBLASLT_MATMUL_TILE_128x64, 128, 64, 1, CUBLASLT_MATMUL_STAGES_8x5, "8x5", 0.9},
    Tile{CUBLASLT_MATMUL_TILE_64x64, 64, 64, 1, CUBLASLT_MATMUL_STAGES_16x6, "16x6", 0.8},
    Tile{CUBLASLT_MATMUL_TILE_32x32, 32, 32, 4, CUBLASLT_MATMUL_STAGES_32x3, "32x3", 0.55},
};
constexpr std::array kTensorCoreTiles = {
    Tile{CUBLASLT_MATMUL_TILE_256x128, 256, 128, 1, CUBLASLT_MATMUL_STAGES_32x3, "32x3", 0.95},
    Tile{CUBLASLT_MATMUL_TILE_128x256, 128, 256, 1, CUBLASLT_MATMUL_STAGES_32x3, "32x3", 0.95},
    Tile{CUBLASLT_MATMUL_TILE_128x128, 128, 128, 1, CUBLASLT_MATMUL_STAGES_32x5, "32x5", 0.9},
    Tile{CUBLASLT_MATMUL_TILE_128x64, 128, 64, 1, CUBLASLT_MATMUL_STAGES_64x3, "64x3", 0.8},
    Tile{CUBLASLT_MATMUL_TILE_64x128, 64, 128, 1, CUBLASLT_MATMUL_STAGES_64x3, "64x3", 0.8},
    Tile{CUBLASLT_MATMUL_TILE_64x64, 64, 64, 2, CUBLASLT_MATMUL_STAGES_64x5, "64x5", 0.65},
};
constexpr std::array kFamilies = {
    Family{0, false, kCudaCoreTiles},
    Family{6, true, kTensorCoreTiles},
};
constexpr std::array kSplits = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, kMaxSplitK};

// Multiply-adds an SM does each cycle; one order of magnitude apart is all the ranking needs.
constexpr double kTensorCoreRate = 512;
constexpr double kCudaCoreRate = 128;
constexpr double kTileOverheadCycles = 1200;  // filling the pipeline, writing the tile
constexpr double kSecondKernelCycles = 4000;  // about 2.5 µs
constexpr double kMemoryBytesPerCycle = 450;  // of the whole GPU
constexpr int64_t kDepthStep = 32;
constexpr int64_t kLeastDepthOfSplit = 256;

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

double tile_count(const Problem& problem, int tile_m, int tile_n) {
  return static_cast<double>(divide_up(problem.m, tile_m)) *
         static_cast<double>(divide_up(problem.n, tile_n)) * static_cast<double>(problem.batch);
}

double estimate_cycles(const Problem& problem, const Family& family, const Tile& tile, int split_k,
                       int sm_count) {
  const double rate = (family.tensor_cores ? kTensorCoreRate : kCudaCoreRate) *
                      (accumulator_of(problem.compute) == Accumulator::kDouble ? 0.5 : 1.0);
  const double ctas = tile_count(problem, tile.m, tile.n) * split_k;
  const double waves = std::ceil(ctas / std::max(sm_count, 1));
  const auto [begin, end] = depth_range(problem.k, split_k, 0);
  const double multiply_adds = 1.0 * tile.m * tile.n * static_cast<double>(end - begin);
  double cycles = waves * (multiply_adds / (rate * tile.efficiency) + kTileOverheadCycles);
  if (split_k > 1) {
    const KernelChoice choice{.split_k = split_k};
    cycles += kSecondKernelCycles +
              2.0 * static_cast<double>(workspace_bytes(problem, choice)) / kMemoryBytesPerCycle;
  }
  return cycles;
}

bool may_split(const Problem& problem, const Selection& selection, int split_k) {
  if (split_k == 1) {
    return true;
  }
  const KernelChoice choice{.split_k = split_k};
  return (selection.reduction_mask & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0 &&
         accumulator_of(problem.compute) != Accumulator::kInt32 &&
         problem.k >= split_k * kLeastDepthOfSplit &&
         workspace_bytes(problem, choice) <= selection.max_workspace;
}

const char* architecture(int compute_capability) {
  if (compute_capability >= 100) {
    return "sm100";
  }
  if (compute_capability >= 90) {
    return "sm90";
  }
  return compute_capability >= 80 ? "ampere" : "turing";
}

std::string arithmetic_name(const Problem& problem, bool tensor_cores) {
  if (problem.a_type == CUDA_R_64F) {
    return "dgemm";
  }
  if (!tensor_cores) {
    return "sgemm";
  }
  const bool half_sums = accumulator_of(problem.compute) == Accumulator::kHalf;
  switch (problem.a_type) {
    case CUDA_R_16BF:
      return problem.c_type == CUDA_R_32F ? "bf16_s16816gemm_fp32" : "bf16_s16816gemm_bf16";
    case CUDA_R_16F:
      if (half_sums) {
        return "h16816gemm";
      }
      return problem.c_type == CUDA_R_32F ? "fp16_s16816gemm_fp32" : "fp16_s16816gemm_fp16";
    case CUDA_R_8I:
      return "igemm_int8";
    default:
      break;
  }
  switch (problem.rounding) {
    case InputRounding::kHalf:
      return "fp16_s16816gemm_fp32";
    case InputRounding::kBfloat16:
      return "bf16_s16816gemm_fp32";
    default:
      return "tf32_s1688gemm_fp32";
  }
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(int id) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                  [id](const Family& family) { return family.id == id; });
  return found == kFamilies.end() ? nullptr : &*found;
}

bool serves(const Family& family, cublasComputeType_t compute, cudaDataType a) {
  const bool full_precision =
      a == CUDA_R_64F ||
      (a == CUDA_R_32F && compute != CUBLAS_COMPUTE_32F_FAST_16F &&
       compute != CUBLAS_COMPUTE_32F_FAST_16BF && compute != CUBLAS_COMPUTE_32F_FAST_TF32);
  return family.tensor_cores != full_precision;
}

std::pair<int64_t, int64_t> depth_range(int64_t k, int parts, int index) {
  const int64_t step = divide_up(divide_up(k, parts), kDepthStep) * kDepthStep;
  const int64_t begin = std::min(k, step * index);
  return {begin, parts == 1 ? k : std::min(k, begin + step)};
}

double wave_count(const Problem& problem, const KernelChoice& kernel, int sm_count) {
  return tile_count(problem, kernel.tile_m, kernel.tile_n) * kernel.split_k / std::max(sm_count, 1);
}

size_t workspace_bytes(const Problem& problem, const KernelChoice& kernel) {
  if (kernel.split_k <= 1) {
    return 0;
  }
  size_t bytes = accumulator_of(problem.compute) == Accumulator::kDouble ? 8 : 4;
  for (const int64_t factor : {problem.m, problem.n, problem.batch, int64_t{kernel.split_k}}) {
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(factor), &bytes)) {
      return std::numeric_limits<size_t>::max();  // more than any workspace
    }
  }
  return bytes;
}

std::vector<RankedKernel> rank_kernels(const Problem& problem, const Selection& selection) {
  std::vector<RankedKernel> ranked;
  for (const Family& family : kFamilies) {
    if (!serves(family, problem.compute, problem.a_type) ||
        (selection.only_algorithm >= 0 && family.id != selection.only_algorithm)) {
      continue;
    }
    for (const Tile& tile : family.tiles) {
      for (const int split_k : kSplits) {
        if (!may_split(problem, selection, split_k)) {
          continue;
        }
        RankedKernel entry;
        entry.kernel = {family.id, tile.id, tile.m, tile.n, tile.stages, tile.slices, split_k};
        entry.waves = wave_count(problem, entry.kernel, selection.sm_count);
        if (selection.max_waves > 0 && entry.waves > selection.max_waves) {
          continue;
        }
        entry.cycles = estimate_cycles(problem, family, tile, split_k, selection.sm_count);
        ranked.push_back(entry);
      }
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const RankedKernel& a, const RankedKernel& b) {
    return a.cycles < b.cycles;
  });
  return ranked;
}

std::string kernel_name(const Problem& problem, const KernelChoice& kernel,
                        int compute_capability) {
  const Family* family = find_family(kernel.algorithm);
  const bool tensor_cores = family != nullptr && family->tensor_cores;
  std::string name = architecture(compute_capability);
  name += '_' + arithmetic_name(problem, tensor_cores) + '_' + std::to_string(kernel.tile_m) + 'x' +
          std::to_string(kernel.tile_n);
  if (kernel.slices > 1) {
    name += "_sliced1x" + std::to_string(kernel.slices);
  }
  if (tensor_cores) {
    for (const Tile& tile : family->tiles) {
      if (tile.id == kernel.tile) {
        name += std::string("_stages_") + tile.stages_name;
      }
    }
  }
  name += '_';
  name += problem.transpose_a ? 't' : 'n';
  name += problem.transpose_b ? 't' : 'n';
  return name;
}

}  // namespace braid::vgpu::gemm
