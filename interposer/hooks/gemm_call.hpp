// A cuBLAS GEMM as the hooks see it, whatever function it came through.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>

#include <cstdint>
#include <functional>

#include "interposer/split_gemm.hpp"

namespace braid::interposer {

/// Column-major, as cuBLAS has it: C[m,n] = alpha·op(A)[m,k]·op(B)[k,n] + beta·C. The row-major
/// program sees n rows (tokens) of m elements.
struct GemmCall {
  cublasHandle_t handle = nullptr;
  int64_t m = 0, n = 0, k = 0;
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  int64_t lda = 0, ldb = 0, ldc = 0;
  cudaDataType_t type_a = CUDA_R_32F, type_b = CUDA_R_32F, type_c = CUDA_R_32F;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  uint64_t scalar_bytes = 4;
  uint32_t function = 0;  // tells the entry points apart in the pair learner's key
  const void* return_address = nullptr;
};

/// Issues columns [first, first+count) of the GEMM through the application's own handle.
using IssueColumns =
    std::function<cublasStatus_t(int64_t first, int64_t count, const void* b, void* c)>;

/// Carries out a GEMM: whole, or in parts where the collective it is known to feed is agreed to be
/// made in parts. Records it and tells the ledger.
cublasStatus_t carry_out_gemm(const GemmCall& call, const IssueColumns& issue);

/// A GEMM that is never cut (batched, strided, cuBLASLt): recorded only. Runs `issue`.
struct WholeGemm {
  CUstream stream = nullptr;
  uint64_t m = 0, n = 0, k = 0, batch = 1;  // column-major m, n
  cudaDataType_t type = CUDA_R_32F, output_type = CUDA_R_32F;
  const void* c = nullptr;
  uint32_t epilogue = 1;
  const void* return_address = nullptr;
};
void note_whole_gemm(const WholeGemm& gemm);

/// The stream a cuBLAS handle is set to.
CUstream stream_of(cublasHandle_t handle);

/// The workspace a program gave a handle (cublasSetWorkspace), for rule 3.
void note_workspace(cublasHandle_t handle, void* workspace, uint64_t bytes);

/// The extents of the operands in memory. Pure; tested alone.
MemoryRange extent_of_matrix(const void* base, int64_t rows, int64_t columns, int64_t leading,
                             uint64_t element_bytes);
uint64_t bytes_of(cudaDataType_t type);

}  // namespace braid::interposer
