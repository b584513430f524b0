// What cublasHandle_t and cublasLtHandle_t have in common: a cuBLAS handle may stand where a
// cuBLASLt handle is asked for (frameworks do so), hence the same beginning.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::gemm {

struct HandleBase {
  static constexpr uint32_t kAlive = 0xb1a5b1a5U;
  uint32_t state = kAlive;
  int device = 0;
  /// Marks the handle before its memory goes, so that a later use is refused while it is
  /// recognisable.
  ~HandleBase() { *const_cast<volatile uint32_t*>(&state) = 0; }
};

inline bool is_alive(const HandleBase* handle) {
  return handle != nullptr && handle->state == HandleBase::kAlive;
}

/// Device memory a handle may use for split K when the user gave none (cuBLAS's documented
/// defaults).
size_t default_workspace_bytes(int device);

/// SMs of a device.
int sm_count(int device);
int compute_capability(int device);

/// Opens the virtual box on the current device: false when there is no usable device.
bool open_device(int& device);

/// "CUBLAS_STATUS_…", and the words for it.
const char* status_name(cublasStatus_t status);
const char* status_text(cublasStatus_t status);

}  // namespace braid::vgpu::gemm
