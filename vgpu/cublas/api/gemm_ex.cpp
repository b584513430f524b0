// GEMMs that name their types: SgemmEx, GemmEx, GemmStridedBatchedEx, GemmBatchedEx.
#include "vgpu/cublas/api/gemm_arguments.hpp"

using braid::vgpu::cublas::submit_gemm;

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types and names.
#define BRAID_DEFINE_SGEMM_EX(NAME, INT)                                                          \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,  \
                      INT m, INT n, INT k, const float* alpha, const void* A, cudaDataType Atype, \
                      INT lda, const void* B, cudaDataType Btype, INT ldb, const float* beta,     \
                      void* C, cudaDataType Ctype, INT ldc) {                                     \
    return submit_gemm({__func__,                                                                 \
                        handle,                                                                   \
                        transa,                                                                   \
                        transb,                                                                   \
                        m,                                                                        \
                        n,                                                                        \
                        k,                                                                        \
                        alpha,                                                                    \
                        {A, Atype, lda, 0},                                                       \
                        {B, Btype, ldb, 0},                                                       \
                        beta,                                                                     \
                        {C, Ctype, ldc, 0},                                                       \
                        CUBLAS_COMPUTE_32F});                                                     \
  }

#define BRAID_DEFINE_GEMM_EX(NAME, INT)                                                          \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                      INT m, INT n, INT k, const void* alpha, const void* A, cudaDataType Atype, \
                      INT lda, const void* B, cudaDataType Btype, INT ldb, const void* beta,     \
                      void* C, cudaDataType Ctype, INT ldc, cublasComputeType_t computeType,     \
                      cublasGemmAlgo_t algo) {                                                   \
    return submit_gemm({__func__,                                                                \
                        handle,                                                                  \
                        transa,                                                                  \
                        transb,                                                                  \
                        m,                                                                       \
                        n,                                                                       \
                        k,                                                                       \
                        alpha,                                                                   \
                        {A, Atype, lda, 0},                                                      \
                        {B, Btype, ldb, 0},                                                      \
                        beta,                                                                    \
                        {C, Ctype, ldc, 0},                                                      \
                        computeType,                                                             \
                        1,                                                                       \
                        false,                                                                   \
                        algo});                                                                  \
  }

#define BRAID_DEFINE_GEMM_STRIDED_EX(NAME, INT)                                                   \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,  \
                      INT m, INT n, INT k, const void* alpha, const void* A, cudaDataType Atype,  \
                      INT lda, long long int strideA, const void* B, cudaDataType Btype, INT ldb, \
                      long long int strideB, const void* beta, void* C, cudaDataType Ctype,       \
                      INT ldc, long long int strideC, INT batchCount,                             \
                      cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                   \
    return submit_gemm({__func__,                                                                 \
                        handle,                                                                   \
                        transa,                                                                   \
                        transb,                                                                   \
                        m,                                                                        \
                        n,                                                                        \
                        k,                                                                        \
                        alpha,                                                                    \
                        {A, Atype, lda, strideA},                                                 \
                        {B, Btype, ldb, strideB},                                                 \
                        beta,                                                                     \
                        {C, Ctype, ldc, strideC},                                                 \
                        computeType,                                                              \
                        batchCount,                                                               \
                        false,                                                                    \
                        algo});                                                                   \
  }

#define BRAID_DEFINE_GEMM_BATCHED_EX(NAME, INT)                                                    \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,   \
                      INT m, INT n, INT k, const void* alpha, const void* const Aarray[],          \
                      cudaDataType Atype, INT lda, const void* const Barray[], cudaDataType Btype, \
                      INT ldb, const void* beta, void* const Carray[], cudaDataType Ctype,         \
                      INT ldc, INT batchCount, cublasComputeType_t computeType,                    \
                      cublasGemmAlgo_t algo) {                                                     \
    return submit_gemm({__func__,                                                                  \
                        handle,                                                                    \
                        transa,                                                                    \
                        transb,                                                                    \
                        m,                                                                         \
                        n,                                                                         \
                        k,                                                                         \
                        alpha,                                                                     \
                        {Aarray, Atype, lda, 0},                                                   \
                        {Barray, Btype, ldb, 0},                                                   \
                        beta,                                                                      \
                        {Carray, Ctype, ldc, 0},                                                   \
                        computeType,                                                               \
                        batchCount,                                                                \
                        true,                                                                      \
                        algo});                                                                    \
  }
// NOLINTEND(bugprone-macro-parentheses)

BRAID_DEFINE_SGEMM_EX(cublasSgemmEx, int)
BRAID_DEFINE_SGEMM_EX(cublasSgemmEx_64, int64_t)
BRAID_DEFINE_GEMM_EX(cublasGemmEx, int)
BRAID_DEFINE_GEMM_EX(cublasGemmEx_64, int64_t)
BRAID_DEFINE_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
BRAID_DEFINE_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
BRAID_DEFINE_GEMM_BATCHED_EX(cublasGemmBatchedEx, int)
BRAID_DEFINE_GEMM_BATCHED_EX(cublasGemmBatchedEx_64, int64_t)
