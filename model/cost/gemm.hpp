// Time of a GEMM: tiles, waves, split-K and the memory floor.
#pragma once

#include <cstdint>

#include "model/cost/compute.hpp"
#include "model/gpu.hpp"
#include "model/trace_format.hpp"

namespace braid::model {

/// Row-major C[m,n] = A[m,k] B[k,n], `batch` times.
struct GemmShape {
  uint64_t m = 1, n = 1, k = 1, batch = 1;
  trace::ElementType type = trace::ElementType::kBf16;
  trace::ElementType output_type = trace::ElementType::kBf16;
};

struct GemmCost {
  int tile_m = 128, tile_n = 128;
  int split_k = 1;
  ComputeCost compute;  // blocks = tiles · split_k · batch; wave_us = one tile on one SM
};

/// The tile and split that give the least time on the whole GPU, as cuBLAS's heuristic aims to, and
/// the cost that follows. `sm_limit` is cublasLt's SM target (0: all). Fixed cost: the start gap,
/// and the reduction pass where K is split.
GemmCost gemm_cost(const GpuModel& gpu, const GemmShape& shape, int sm_limit = 0);

/// Floating-point operations of the shape, 2·m·n·k·batch.
double flops_of(const GemmShape& shape);

}  // namespace braid::model
