// Level 2: gemv for float and double.
//
// The sum for an element of y runs over the matrix in order of its index, in the type itself.
#include <algorithm>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cublas/api/device_work.hpp"
#include "vgpu/cublas/gemm/access.hpp"

namespace braid::vgpu::cublas {
namespace {

struct Gemv {
  bool transpose = false;
  int64_t m = 0, n = 0, lda = 1;
  const void* a = nullptr;
  Vector x, y;
};

template <typename T>
void run_gemv(const Gemv& gemv, T alpha, T beta) {
  const std::vector<double> x = alpha == T(0) ? std::vector<double>() : read_vector(gemv.x);
  std::vector<double> y =
      beta == T(0) ? std::vector<double>(static_cast<size_t>(gemv.y.count)) : read_vector(gemv.y);
  std::vector<T> sums(y.size(), T(0));
  const auto* const a = static_cast<const T*>(gemv.a);
  for (int64_t j = 0; alpha != T(0) && j < gemv.n; ++j) {
    const T* const column = a + j * gemv.lda;
    for (int64_t i = 0; i < gemv.m; ++i) {
      const auto to = static_cast<size_t>(gemv.transpose ? j : i);
      const auto from = static_cast<size_t>(gemv.transpose ? i : j);
      sums[to] += column[i] * static_cast<T>(x[from]);
    }
  }
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = alpha * sums[i] + (beta == T(0) ? T(0) : beta * static_cast<T>(y[i]));
  }
  write_vector(gemv.y, y);
}

template <typename T>
cublasStatus_t submit(const char* function, cublasHandle_t handle, cublasOperation_t trans,
                      cudaDataType type, Gemv gemv, const void* x, int64_t incx, const void* alpha,
                      const void* beta, void* y, int64_t incy) {
  if (const auto status = check_handle(function, handle)) {
    return status;
  }
  const auto invalid = [function](const char* why) {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE, why);
  };
  if (trans != CUBLAS_OP_N && trans != CUBLAS_OP_T && trans != CUBLAS_OP_C) {
    return invalid("trans must be CUBLAS_OP_N, _T or _C");
  }
  if (gemv.m < 0 || gemv.n < 0 || gemv.lda < std::max<int64_t>(1, gemv.m) || incx == 0 ||
      incy == 0) {
    return invalid("m, n, lda or an increment is out of range");
  }
  if (gemv.m == 0 || gemv.n == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (alpha == nullptr || beta == nullptr) {
    return invalid("alpha or beta is null");
  }
  gemv.transpose = trans != CUBLAS_OP_N;
  gemv.x = {x, type, gemv.transpose ? gemv.m : gemv.n, incx};
  gemv.y = {y, type, gemv.transpose ? gemv.n : gemv.m, incy};
  const ScalarArgument scale_a = take_scalar(*handle, alpha, type);
  const ScalarArgument scale_y = take_scalar(*handle, beta, type);
  return launch_kernel(function, handle, "gemv2N_kernel", gemv.y.count, [=](int device) {
    ScalarArgument factor = scale_a, keep = scale_y;
    if (!read_scalar(device, factor) || !read_scalar(device, keep) ||
        !check_vector(device, gemv.y)) {
      return;
    }
    if (factor.value != 0) {
      const Vector matrix{gemv.a, type, gemv.m + (gemv.n - 1) * gemv.lda, 1};
      if (!check_vector(device, gemv.x) || !check_vector(device, matrix)) {
        return;
      }
    }
    run_gemv(gemv, static_cast<T>(factor.value), static_cast<T>(keep.value));
  });
}

}  // namespace
}  // namespace braid::vgpu::cublas

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types and names.
#define BRAID_DEFINE_GEMV(NAME, INT, ELEMENT, TYPE)                                                \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t trans, INT m, INT n,                \
                      const ELEMENT* alpha, const ELEMENT* A, INT lda, const ELEMENT* x, INT incx, \
                      const ELEMENT* beta, ELEMENT* y, INT incy) {                                 \
    return braid::vgpu::cublas::submit<ELEMENT>(__func__, handle, trans, TYPE,                     \
                                                {.m = m, .n = n, .lda = lda, .a = A}, x, incx,     \
                                                alpha, beta, y, incy);                             \
  }
// NOLINTEND(bugprone-macro-parentheses)

BRAID_DEFINE_GEMV(cublasSgemv_v2, int, float, CUDA_R_32F)
BRAID_DEFINE_GEMV(cublasSgemv_v2_64, int64_t, float, CUDA_R_32F)
BRAID_DEFINE_GEMV(cublasDgemv_v2, int, double, CUDA_R_64F)
BRAID_DEFINE_GEMV(cublasDgemv_v2_64, int64_t, double, CUDA_R_64F)
