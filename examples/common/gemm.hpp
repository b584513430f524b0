// Row-major matrix products on cuBLAS, accumulated in fp32.
#pragma once

#include <cublas_v2.h>

#include "common/data_type.hpp"

namespace examples {

enum class Transpose { kNo, kYes };

/// C[m,n] = op(A)·op(B) + beta·C. A is m×k and B k×n after their transposition; all are dense and
/// row-major.
void gemm(cublasHandle_t handle, DataType type, Transpose transpose_a, Transpose transpose_b, int m,
          int n, int k, const void* a, const void* b, void* c, float beta = 0.0F);

}  // namespace examples
