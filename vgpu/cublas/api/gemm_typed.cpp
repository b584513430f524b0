// S, D and H GEMMs: plain, strided batched and batched, with 32- and 64-bit sizes.
#include "vgpu/cublas/api/gemm_arguments.hpp"

using braid::vgpu::cublas::submit_gemm;

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types and names.
#define BRAID_DEFINE_GEMM(NAME, INT, ELEMENT, TYPE, COMPUTE)                                     \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                      INT m, INT n, INT k, const ELEMENT* alpha, const ELEMENT* A, INT lda,      \
                      const ELEMENT* B, INT ldb, const ELEMENT* beta, ELEMENT* C, INT ldc) {     \
    return submit_gemm({__func__,                                                                \
                        handle,                                                                  \
                        transa,                                                                  \
                        transb,                                                                  \
                        m,                                                                       \
                        n,                                                                       \
                        k,                                                                       \
                        alpha,                                                                   \
                        {A, TYPE, lda, 0},                                                       \
                        {B, TYPE, ldb, 0},                                                       \
                        beta,                                                                    \
                        {C, TYPE, ldc, 0},                                                       \
                        COMPUTE});                                                               \
  }

#define BRAID_DEFINE_GEMM_STRIDED(NAME, INT, ELEMENT, TYPE, COMPUTE)                             \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                      INT m, INT n, INT k, const ELEMENT* alpha, const ELEMENT* A, INT lda,      \
                      long long int strideA, const ELEMENT* B, INT ldb, long long int strideB,   \
                      const ELEMENT* beta, ELEMENT* C, INT ldc, long long int strideC,           \
                      INT batchCount) {                                                          \
    return submit_gemm({__func__,                                                                \
                        handle,                                                                  \
                        transa,                                                                  \
                        transb,                                                                  \
                        m,                                                                       \
                        n,                                                                       \
                        k,                                                                       \
                        alpha,                                                                   \
                        {A, TYPE, lda, strideA},                                                 \
                        {B, TYPE, ldb, strideB},                                                 \
                        beta,                                                                    \
                        {C, TYPE, ldc, strideC},                                                 \
                        COMPUTE,                                                                 \
                        batchCount});                                                            \
  }

#define BRAID_DEFINE_GEMM_BATCHED(NAME, INT, ELEMENT, TYPE, COMPUTE)                             \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                      INT m, INT n, INT k, const ELEMENT* alpha, const ELEMENT* const Aarray[],  \
                      INT lda, const ELEMENT* const Barray[], INT ldb, const ELEMENT* beta,      \
                      ELEMENT* const Carray[], INT ldc, INT batchCount) {                        \
    return submit_gemm({__func__,                                                                \
                        handle,                                                                  \
                        transa,                                                                  \
                        transb,                                                                  \
                        m,                                                                       \
                        n,                                                                       \
                        k,                                                                       \
                        alpha,                                                                   \
                        {Aarray, TYPE, lda, 0},                                                  \
                        {Barray, TYPE, ldb, 0},                                                  \
                        beta,                                                                    \
                        {Carray, TYPE, ldc, 0},                                                  \
                        COMPUTE,                                                                 \
                        batchCount,                                                              \
                        true});                                                                  \
  }

#define BRAID_DEFINE_ALL(PLAIN, PREFIX, ELEMENT, TYPE, COMPUTE)                         \
  BRAID_DEFINE_GEMM(PLAIN, int, ELEMENT, TYPE, COMPUTE)                                 \
  BRAID_DEFINE_GEMM(PLAIN##_64, int64_t, ELEMENT, TYPE, COMPUTE)                        \
  BRAID_DEFINE_GEMM_STRIDED(PREFIX##StridedBatched, int, ELEMENT, TYPE, COMPUTE)        \
  BRAID_DEFINE_GEMM_STRIDED(PREFIX##StridedBatched_64, int64_t, ELEMENT, TYPE, COMPUTE) \
  BRAID_DEFINE_GEMM_BATCHED(PREFIX##Batched, int, ELEMENT, TYPE, COMPUTE)               \
  BRAID_DEFINE_GEMM_BATCHED(PREFIX##Batched_64, int64_t, ELEMENT, TYPE, COMPUTE)
// NOLINTEND(bugprone-macro-parentheses)

BRAID_DEFINE_ALL(cublasSgemm_v2, cublasSgemm, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
BRAID_DEFINE_ALL(cublasDgemm_v2, cublasDgemm, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
BRAID_DEFINE_ALL(cublasHgemm, cublasHgemm, __half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
