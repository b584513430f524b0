// The sums of products: a block of op(A) * op(B) over a range of K, by OpenBLAS.
//
// Operands are converted and packed into scratch first, so that neither the address nor the leading
// dimension of a matrix reaches OpenBLAS, and results depend on the block's shape alone. OpenBLAS
// is held to one thread: its own threads would divide the work by the machine they run on.
#pragma once

#include <cstdint>

#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::gemm {

/// Rows and columns of a result panel. Panels start at multiples of these, so a cut of M or N there
/// leaves every other panel's OpenBLAS calls as they were.
constexpr int64_t kPanelRows = 512;
constexpr int64_t kPanelColumns = 256;
/// Panels of one row of panels that share a packed block of A; bounds the accumulators' memory.
constexpr int64_t kPanelsAtOnce = 8;

/// A and B of one batch.
struct Factors {
  const void* a = nullptr;
  const void* b = nullptr;
  int64_t lda = 1, ldb = 1;
};

/// Part of the result: rows [row, row+rows) and columns [column, column+columns), at most one row
/// of kPanelsAtOnce panels.
struct Block {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

/// Writes the sums over K in [depth_begin, depth_end) to `sums` (column-major, `block.rows` apart).
/// T is float, or double for fp64 and int32 accumulators. `slices` parts of the range are summed
/// apart and then added in order; half accumulators round after every 64 terms.
template <typename T>
void multiply(const Problem& problem, const Factors& factors, const Block& block,
              int64_t depth_begin, int64_t depth_end, int slices, T* sums);

}  // namespace braid::vgpu::gemm
