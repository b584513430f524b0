// Handles and their settings.
#include "vgpu/cublas/api/context.hpp"

#include <cuda_runtime_api.h>

#include <new>
#include <string>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::cublas {

cublasStatus_t check_stream(const char* function, cublasHandle_t handle) {
  const int device = device_of(handle->stream);
  if (device == handle->device) {
    return CUBLAS_STATUS_SUCCESS;
  }
  return gemm::fail_call(function, CUBLAS_STATUS_EXECUTION_FAILED,
                         device < 0
                             ? "the handle's stream does not exist"
                             : "the handle belongs to device " + std::to_string(handle->device) +
                                   ", its stream to device " + std::to_string(device));
}

}  // namespace braid::vgpu::cublas

using braid::vgpu::cublas::check_handle;
using braid::vgpu::cublas::give;
using braid::vgpu::gemm::fail_call;

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the handle pointer is null");
  }
  int device = 0;
  if (!braid::vgpu::gemm::open_device(device)) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_INITIALIZED, "there is no virtual GPU");
  }
  auto* context = new (std::nothrow) cublasContext;
  if (context == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_ALLOC_FAILED, "out of host memory");
  }
  context->device = device;
  *handle = context;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (const cublasStatus_t status = check_handle(__func__, handle)) {
    return status;
  }
  if (braid::vgpu::is_stream(handle->stream)) {
    braid::vgpu::synchronize(handle->stream);  // cublasDestroy is documented to wait
  }
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t /*handle*/, int* version) {
  if (version == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the result pointer is null");
  }
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the result pointer is null");
  }
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
  }
  return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no such property");
}

size_t cublasGetCudartVersion(void) { return CUDART_VERSION; }

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId) {
  if (const cublasStatus_t status = check_handle(__func__, handle)) {
    return status;
  }
  handle->stream = streamId;
  handle->workspace = nullptr;  // documented: back to the default pool
  handle->workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* streamId) {
  return give(__func__, handle, streamId, handle == nullptr ? cudaStream_t{} : handle->stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace,
                                     size_t workspaceSizeInBytes) {
  if (const cublasStatus_t status = check_handle(__func__, handle)) {
    return status;
  }
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                     "the workspace is not aligned to 256 bytes");
  }
  handle->workspace = workspace;
  handle->workspace_bytes = workspace == nullptr ? 0 : workspaceSizeInBytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return give(__func__, handle, mode,
              handle == nullptr ? cublasPointerMode_t{} : handle->pointer_mode);
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (const cublasStatus_t status = check_handle(__func__, handle)) {
    return status;
  }
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no such pointer mode");
  }
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return give(__func__, handle, mode,
              handle == nullptr ? cublasAtomicsMode_t{} : handle->atomics_mode);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  if (const cublasStatus_t status = check_handle(__func__, handle)) {
    return status;
  }
  if (mode != CUBLAS_ATOMICS_NOT_ALLOWED && mode != CUBLAS_ATOMICS_ALLOWED) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no such atomics mode");
  }
  handle->atomics_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return give(__func__, handle, mode, handle == nullptr ? cublasMath_t{} : handle->math_mode);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (const cublasStatus_t status = check_handle(__func__, handle)) {
    return status;
  }
  const int base = static_cast<int>(mode) & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  switch (base) {
    case CUBLAS_DEFAULT_MATH:
    case CUBLAS_TENSOR_OP_MATH:
    case CUBLAS_PEDANTIC_MATH:
    case CUBLAS_TF32_TENSOR_OP_MATH:
#if CUBLAS_VER_MAJOR >= 13
    case CUBLAS_FP32_EMULATED_BF16X9_MATH:
    case CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH:
#endif
      handle->math_mode = mode;
      return CUBLAS_STATUS_SUCCESS;
    default:
      return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no such math mode");
  }
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* smCountTarget) {
  return give(__func__, handle, smCountTarget, handle == nullptr ? 0 : handle->sm_count_target);
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int smCountTarget) {
  if (const cublasStatus_t status = check_handle(__func__, handle)) {
    return status;
  }
  const int most = braid::vgpu::gemm::sm_count(handle->device);
  if (smCountTarget < 0 || smCountTarget > most) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                     "SM count target " + std::to_string(smCountTarget) + " is not in 0 … " +
                         std::to_string(most));
  }
  handle->sm_count_target = smCountTarget;
  return CUBLAS_STATUS_SUCCESS;
}
