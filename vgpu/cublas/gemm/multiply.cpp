#include "vgpu/cublas/gemm/multiply.hpp"

#include <cblas.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "vgpu/cublas/gemm/kernel_choice.hpp"
#include "vgpu/cublas/gemm/types.hpp"

namespace braid::vgpu::gemm {
namespace {

constexpr int64_t kDepthAtOnce = 2048;
constexpr int64_t kHalfDepth = 64;  // terms a half accumulator takes before it is rounded

void hold_openblas_to_one_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

void call_openblas(CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, int64_t rows, int64_t columns,
                   int64_t depth, const float* a, const float* b, bool add, float* sums) {
  cblas_sgemm(CblasColMajor, a_form, b_form, blasint(rows), blasint(columns), blasint(depth), 1.0F,
              a, blasint(a_form == CblasTrans ? depth : rows), b,
              blasint(b_form == CblasTrans ? columns : depth), add ? 1.0F : 0.0F, sums,
              blasint(rows));
}

void call_openblas(CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, int64_t rows, int64_t columns,
                   int64_t depth, const double* a, const double* b, bool add, double* sums) {
  cblas_dgemm(CblasColMajor, a_form, b_form, blasint(rows), blasint(columns), blasint(depth), 1.0,
              a, blasint(a_form == CblasTrans ? depth : rows), b,
              blasint(b_form == CblasTrans ? columns : depth), add ? 1.0 : 0.0, sums,
              blasint(rows));
}

/// Copies stored rows [row, row+rows) of columns [column, column+columns) to `out`, without gaps.
template <typename T>
void pack(cudaDataType type, InputRounding rounding, const void* matrix, int64_t ld, int64_t row,
          int64_t rows, int64_t column, int64_t columns, std::vector<T>& out) {
  out.resize(static_cast<size_t>(rows * columns));
  for (int64_t j = 0; j < columns; ++j) {
    load_run(type, rounding, matrix, row + (column + j) * ld, rows, out.data() + j * rows);
  }
}

template <typename T>
struct Scratch {
  std::vector<T> a, b, slice;
};

/// Scratch lives with the executor thread that uses it: allocating megabytes for every GEMM would
/// cost more than small ones do.
template <typename T>
Scratch<T>& scratch() {
  thread_local Scratch<T> buffers;
  return buffers;
}

template <typename T>
void multiply_slice(const Problem& problem, const Factors& factors, const Block& block,
                    int64_t depth_begin, int64_t depth_end, T* sums) {
  if (depth_begin >= depth_end) {
    std::fill_n(sums, block.rows * block.columns, T(0));
    return;
  }
  const bool half_sums = accumulator_of(problem.compute) == Accumulator::kHalf;
  const int64_t depth_step = half_sums ? kHalfDepth : kDepthAtOnce;
  const CBLAS_TRANSPOSE a_form = problem.transpose_a ? CblasTrans : CblasNoTrans;
  const CBLAS_TRANSPOSE b_form = problem.transpose_b ? CblasTrans : CblasNoTrans;
  auto& [a, b, unused] = scratch<T>();
  for (int64_t depth = depth_begin; depth < depth_end; depth += depth_step) {
    const int64_t count = std::min(depth_step, depth_end - depth);
    if (problem.transpose_a) {
      pack(problem.a_type, problem.rounding, factors.a, factors.lda, depth, count, block.row,
           block.rows, a);
    } else {
      pack(problem.a_type, problem.rounding, factors.a, factors.lda, block.row, block.rows, depth,
           count, a);
    }
    for (int64_t j = 0; j < block.columns; j += kPanelColumns) {
      const int64_t columns = std::min(kPanelColumns, block.columns - j);
      if (problem.transpose_b) {
        pack(problem.b_type, problem.rounding, factors.b, factors.ldb, block.column + j, columns,
             depth, count, b);
      } else {
        pack(problem.b_type, problem.rounding, factors.b, factors.ldb, depth, count,
             block.column + j, columns, b);
      }
      call_openblas(a_form, b_form, block.rows, columns, count, a.data(), b.data(),
                    depth > depth_begin, sums + j * block.rows);
    }
    if (half_sums) {
      for (int64_t i = 0; i < block.rows * block.columns; ++i) {
        sums[i] = T(float_from_half(half_from_float(static_cast<float>(sums[i]))));
      }
    }
  }
}

}  // namespace

template <typename T>
void multiply(const Problem& problem, const Factors& factors, const Block& block,
              int64_t depth_begin, int64_t depth_end, int slices, T* sums) {
  hold_openblas_to_one_thread();
  const int64_t depth = depth_end - depth_begin;
  const auto [first_begin, first_end] = depth_range(depth, slices, 0);
  multiply_slice(problem, factors, block, depth_begin + first_begin, depth_begin + first_end, sums);
  const int64_t count = block.rows * block.columns;
  for (int index = 1; index < slices; ++index) {
    const auto [begin, end] = depth_range(depth, slices, index);
    if (begin >= end) {
      break;
    }
    std::vector<T>& slice = scratch<T>().slice;
    slice.resize(static_cast<size_t>(count));
    multiply_slice(problem, factors, block, depth_begin + begin, depth_begin + end, slice.data());
    for (int64_t i = 0; i < count; ++i) {
      sums[i] += slice[static_cast<size_t>(i)];
    }
  }
}

template void multiply(const Problem&, const Factors&, const Block&, int64_t, int64_t, int, float*);
template void multiply(const Problem&, const Factors&, const Block&, int64_t, int64_t, int,
                       double*);

}  // namespace braid::vgpu::gemm
