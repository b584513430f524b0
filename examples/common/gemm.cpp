#include "common/gemm.hpp"

#include "common/check.hpp"

namespace examples {

// cuBLAS is column-major: a row-major C is Cᵀ there, and Cᵀ = op(B)ᵀ·op(A)ᵀ.
void gemm(cublasHandle_t handle, DataType type, Transpose transpose_a, Transpose transpose_b, int m,
          int n, int k, const void* a, const void* b, void* c, float beta) {
  if (m == 0 || n == 0 || k == 0) {
    return;
  }
  const float alpha = 1.0F;
  const bool flip_a = transpose_a == Transpose::kYes;
  const bool flip_b = transpose_b == Transpose::kYes;
  CUBLAS_CHECK(cublasGemmEx(
      handle, flip_b ? CUBLAS_OP_T : CUBLAS_OP_N, flip_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k,
      &alpha, b, cublas_type(type), flip_b ? k : n, a, cublas_type(type), flip_a ? m : k, &beta, c,
      cublas_type(type), n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

}  // namespace examples
