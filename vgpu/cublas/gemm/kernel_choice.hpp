// Which kernel a GEMM runs on, and with it the order in which the terms of an element are added.
//
// cuBLAS has many kernels and picks one by shape; that is why cutting a GEMM into parts may change
// the bits of its result, and why the same call twice gives the same bits. The stand-in keeps that:
//   - A catalogue of tiles per family (CUDA cores, tensor cores). Large tiles sum K in one run;
//     the small ones ("sliced") sum `slices` contiguous parts of K apart and add them at the end.
//   - Split K: few tiles and a long K leave SMs idle, so K is divided among `split_k` CTAs. Their
//     partial sums go to the workspace, and a second kernel adds them in order, in the
//     accumulator's type. Less workspace means fewer splits.
//   - The estimate that ranks them: waves of CTAs over the SMs, times the time of one tile at the
//     tile's efficiency, plus what joining the splits costs. It sees sizes, types, transposes, SM
//     count and workspace; never addresses, leading dimensions, strides or threads.
// So (m, n, k) decides, and a slice of the tokens keeps its bits exactly when it gets the same
// choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::gemm {

struct Tile {
  int id = CUBLASLT_MATMUL_TILE_UNDEFINED;
  int m = 0, n = 0;
  int slices = 1;
  int stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  const char* stages_name = "";
  double efficiency = 1;  // of the SM's peak, when the tile is full
};

struct Family {
  int id = 0;  // cublasLt's algorithm id
  bool tensor_cores = false;
  std::span<const Tile> tiles;
};

/// All families, in order of id.
std::span<const Family> families();

/// The family with cublasLt algorithm id `id`; nullptr when there is none.
const Family* find_family(int id);

/// Whether a family has kernels for these types.
bool serves(const Family& family, cublasComputeType_t compute, cudaDataType a);

constexpr int kMaxSplitK = 32;

/// Limits on the choice.
struct Selection {
  int sm_count = 1;
  size_t max_workspace = 0;
  uint32_t reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  double max_waves = 0;  // 0: any
  int only_algorithm = -1;
};

struct RankedKernel {
  KernelChoice kernel;
  double cycles = 0;
  double waves = 0;
};

/// All kernels for the problem, the fastest by the estimate first. Empty when limits leave none.
std::vector<RankedKernel> rank_kernels(const Problem& problem, const Selection& selection);

/// CTAs over SMs.
double wave_count(const Problem& problem, const KernelChoice& kernel, int sm_count);

/// The part [first, second) of [0, k) that part `index` of `parts` adds up. Parts begin at
/// multiples of 32, as K tiles do; late parts may be empty.
std::pair<int64_t, int64_t> depth_range(int64_t k, int parts, int index);

/// Name in the manner of cuBLAS's own kernels, such as "ampere_bf16_s16816gemm_bf16_128x128_…_tn".
std::string kernel_name(const Problem& problem, const KernelChoice& kernel, int compute_capability);

}  // namespace braid::vgpu::gemm
