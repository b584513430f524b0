// Settings of floating-point emulation: kept and given back. The virtual GPUs compute the emulated
// types at full precision, so the settings change no result.
#include "vgpu/cublas/api/context.hpp"

#if CUBLAS_VER_MAJOR >= 13

using braid::vgpu::cublas::check_handle;
using braid::vgpu::cublas::give;
using braid::vgpu::gemm::fail_call;

namespace {

template <typename T>
cublasStatus_t set(const char* function, cublasHandle_t handle, T cublasContext::*field, T value,
                   bool valid) {
  if (const cublasStatus_t status = check_handle(function, handle)) {
    return status;
  }
  if (!valid) {
    return fail_call(function, CUBLAS_STATUS_INVALID_VALUE, "the value is out of range");
  }
  handle->*field = value;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t get(const char* function, cublasHandle_t handle, T cublasContext::*field, T* out) {
  return give(function, handle, out, handle == nullptr ? T{} : handle->*field);
}

}  // namespace

cublasStatus_t cublasGetEmulationStrategy(cublasHandle_t handle,
                                          cublasEmulationStrategy_t* emulationStrategy) {
  return get(__func__, handle, &cublasContext::emulation_strategy, emulationStrategy);
}

cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle,
                                          cublasEmulationStrategy_t emulationStrategy) {
  const bool valid = emulationStrategy == CUBLAS_EMULATION_STRATEGY_DEFAULT ||
                     emulationStrategy == CUBLAS_EMULATION_STRATEGY_PERFORMANT ||
                     emulationStrategy == CUBLAS_EMULATION_STRATEGY_EAGER;
  return set(__func__, handle, &cublasContext::emulation_strategy, emulationStrategy, valid);
}

cublasStatus_t cublasGetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                      cudaEmulationSpecialValuesSupport* mask) {
  return get(__func__, handle, &cublasContext::emulation_special_values, mask);
}

cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                      cudaEmulationSpecialValuesSupport mask) {
  return set(__func__, handle, &cublasContext::emulation_special_values, mask, true);
}

cublasStatus_t cublasGetFixedPointEmulationMantissaControl(
    cublasHandle_t handle, cudaEmulationMantissaControl* mantissaControl) {
  return get(__func__, handle, &cublasContext::emulation_mantissa_control, mantissaControl);
}

cublasStatus_t cublasSetFixedPointEmulationMantissaControl(
    cublasHandle_t handle, cudaEmulationMantissaControl mantissaControl) {
  const bool valid = mantissaControl == CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC ||
                     mantissaControl == CUDA_EMULATION_MANTISSA_CONTROL_FIXED;
  return set(__func__, handle, &cublasContext::emulation_mantissa_control, mantissaControl, valid);
}

cublasStatus_t cublasGetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle,
                                                               int* maxMantissaBitCount) {
  return get(__func__, handle, &cublasContext::emulation_max_mantissa_bits, maxMantissaBitCount);
}

cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle,
                                                               int maxMantissaBitCount) {
  return set(__func__, handle, &cublasContext::emulation_max_mantissa_bits, maxMantissaBitCount,
             maxMantissaBitCount >= 0);
}

cublasStatus_t cublasGetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle,
                                                             int* mantissaBitOffset) {
  return get(__func__, handle, &cublasContext::emulation_mantissa_bit_offset, mantissaBitOffset);
}

cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle,
                                                             int mantissaBitOffset) {
  return set(__func__, handle, &cublasContext::emulation_mantissa_bit_offset, mantissaBitOffset,
             true);
}

cublasStatus_t cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle,
                                                                   int** mantissaBitCount) {
  return get(__func__, handle, &cublasContext::emulation_mantissa_bit_count, mantissaBitCount);
}

cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle,
                                                                   int* mantissaBitCount) {
  return set(__func__, handle, &cublasContext::emulation_mantissa_bit_count, mantissaBitCount,
             true);
}

#endif
