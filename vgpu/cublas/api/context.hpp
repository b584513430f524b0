// What a cublasHandle_t points at.
#pragma once

#include <cublas_api.h>

#include <cstddef>

#include "vgpu/cublas/gemm/handle.hpp"
#include "vgpu/cublas/gemm/log.hpp"

/// cuBLAS's opaque context. Setters and calls on one handle must not race, as cuBLAS documents.
struct cublasContext : braid::vgpu::gemm::HandleBase {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;  // nullptr: the default pool
  size_t workspace_bytes = 0;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
#if CUBLAS_VER_MAJOR >= 13
  cublasEmulationStrategy_t emulation_strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  cudaEmulationSpecialValuesSupport emulation_special_values =
      CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT;
  cudaEmulationMantissaControl emulation_mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
  int emulation_max_mantissa_bits = 0;
  int emulation_mantissa_bit_offset = 0;
  int* emulation_mantissa_bit_count = nullptr;
#endif
};

namespace braid::vgpu::cublas {

/// CUBLAS_STATUS_SUCCESS for a handle that may be used now.
inline cublasStatus_t check_handle(const char* function, cublasHandle_t handle) {
  return gemm::is_alive(handle) ? CUBLAS_STATUS_SUCCESS
                                : gemm::fail_call(function, CUBLAS_STATUS_NOT_INITIALIZED,
                                                  "the handle is null or was destroyed");
}

/// Work of the handle may go to its stream: it is a stream of the handle's device.
cublasStatus_t check_stream(const char* function, cublasHandle_t handle);

/// Stores `value` through `out`, if there is an `out`.
template <typename T>
cublasStatus_t give(const char* function, cublasHandle_t handle, T* out, const T& value) {
  if (const cublasStatus_t status = check_handle(function, handle)) {
    return status;
  }
  if (out == nullptr) {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE, "the result pointer is null");
  }
  *out = value;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace braid::vgpu::cublas
