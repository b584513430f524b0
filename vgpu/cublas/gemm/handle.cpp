#include "vgpu/cublas/gemm/handle.hpp"

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::gemm {
namespace {

const DeviceInfo* device_info(int device) {
  const auto& box = devices();
  const bool known = device >= 0 && static_cast<size_t>(device) < box.size();
  return known ? &box[static_cast<size_t>(device)] : nullptr;
}

}  // namespace

size_t default_workspace_bytes(int device) {
  constexpr size_t kMebibyte = size_t{1} << 20;
  return (compute_capability(device) >= 90 ? 32 : 4) * kMebibyte;
}

int sm_count(int device) {
  const DeviceInfo* info = device_info(device);
  return info == nullptr ? 1 : info->sm_count;
}

int compute_capability(int device) {
  const DeviceInfo* info = device_info(device);
  return info == nullptr ? 0 : info->compute_capability;
}

bool open_device(int& device) {
  if (devices().empty()) {
    if (box_error()) {
      report_once("cuBLAS: no virtual GPU: " + box_error()->text());
    }
    return false;
  }
  device = current_device();
  return true;
}

const char* status_name(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unknown cuBLAS status";
}

const char* status_text(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an invalid value was used as an argument";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "an absent device architectural feature is required";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "the functionality requires a license";
  }
  return "unknown cuBLAS status";
}

}  // namespace braid::vgpu::gemm
