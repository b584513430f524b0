// Every CUDA, NCCL and cuBLAS status is checked; the first failure ends the program with exit
// code 1.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

namespace examples {

[[noreturn]] void fail_at(const char* file, int line, const char* call, const char* reason);
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace examples

#define CUDA_CHECK(call)                                                              \
  do {                                                                                \
    const cudaError_t check_result = (call);                                          \
    if (check_result != cudaSuccess) {                                                \
      examples::fail_at(__FILE__, __LINE__, #call, cudaGetErrorString(check_result)); \
    }                                                                                 \
  } while (false)

#define NCCL_CHECK(call)                                                              \
  do {                                                                                \
    const ncclResult_t check_result = (call);                                         \
    if (check_result != ncclSuccess) {                                                \
      examples::fail_at(__FILE__, __LINE__, #call, ncclGetErrorString(check_result)); \
    }                                                                                 \
  } while (false)

#define CUBLAS_CHECK(call)                                                               \
  do {                                                                                   \
    const cublasStatus_t check_result = (call);                                          \
    if (check_result != CUBLAS_STATUS_SUCCESS) {                                         \
      examples::fail_at(__FILE__, __LINE__, #call, cublasGetStatusString(check_result)); \
    }                                                                                    \
  } while (false)
