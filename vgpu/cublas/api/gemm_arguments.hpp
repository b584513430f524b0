// One form for the arguments of all GEMM entry points.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::cublas {

struct GemmMatrix {
  const void* base = nullptr;
  cudaDataType type = CUDA_R_32F;
  int64_t ld = 1;
  int64_t stride = 0;  // elements between the batches; 0 and unused with a pointer array
};

struct GemmArguments {
  const char* function;
  cublasHandle_t handle;
  cublasOperation_t transa, transb;
  int64_t m, n, k;
  const void* alpha;
  GemmMatrix a, b;
  const void* beta;
  GemmMatrix c;
  cublasComputeType_t compute;
  int64_t batch = 1;
  bool pointer_arrays = false;
  int algorithm = CUBLAS_GEMM_DEFAULT;
};

/// Checks the arguments in cuBLAS's order, chooses a kernel and appends it to the handle's stream.
cublasStatus_t submit_gemm(const GemmArguments& arguments);

}  // namespace braid::vgpu::cublas
