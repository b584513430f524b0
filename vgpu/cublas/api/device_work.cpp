#include "vgpu/cublas/api/device_work.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cublas/gemm/access.hpp"
#include "vgpu/cublas/gemm/problem.hpp"
#include "vgpu/cublas/gemm/types.hpp"

namespace braid::vgpu::cublas {
namespace {

bool may_access(int device, const void* address, size_t bytes, size_t alignment) {
  CUresult result = CUDA_SUCCESS;
  if (bytes > 0 && reinterpret_cast<uintptr_t>(address) % alignment != 0) {
    result = CUDA_ERROR_MISALIGNED_ADDRESS;
  } else {
    result = check_access(device, address, bytes);
  }
  if (result != CUDA_SUCCESS) {
    set_device_error(device, result);
  }
  return result == CUDA_SUCCESS;
}

/// Offset of the first element to be visited.
int64_t start_of(const Vector& vector) {
  return vector.increment < 0 ? (1 - vector.count) * vector.increment : 0;
}

}  // namespace

bool is_real(cudaDataType type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F;
}

ScalarArgument take_scalar(const cublasContext& handle, const void* pointer, cudaDataType type) {
  if (handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    return {pointer, type, 0};
  }
  return {nullptr, type, gemm::scalar_value(type, pointer)};
}

bool check_vector(int device, const Vector& vector) {
  const size_t element = gemm::element_bytes(vector.type);
  const size_t bytes = gemm::matrix_bytes(1, vector.count, std::abs(vector.increment), element);
  return may_access(device, vector.base, bytes, element);
}

bool read_scalar(int device, ScalarArgument& scalar) {
  if (scalar.device == nullptr) {
    return true;
  }
  const size_t element = gemm::element_bytes(scalar.type);
  if (!may_access(device, scalar.device, element, element)) {
    return false;
  }
  scalar.value = gemm::scalar_value(scalar.type, scalar.device);
  return true;
}

bool check_result(int device, const ScalarResult& result) {
  const size_t element = gemm::element_bytes(result.type);
  return !result.on_device || may_access(device, result.pointer, element, element);
}

std::vector<double> read_vector(const Vector& vector) {
  std::vector<double> values(static_cast<size_t>(vector.count));
  gemm::load_strided(vector.type, vector.base, start_of(vector), vector.increment, vector.count,
                     values.data());
  return values;
}

void write_vector(const Vector& vector, const std::vector<double>& values) {
  gemm::store_strided(vector.type, const_cast<void*>(vector.base), start_of(vector),
                      vector.increment, vector.count, values.data());
}

void write_result(const ScalarResult& result, double value) {
  gemm::store_strided(result.type, result.pointer, 0, 1, 1, &value);
}

cublasStatus_t launch_kernel(const char* function, cublasHandle_t handle, const std::string& name,
                             int64_t elements, std::function<void(int device)> body) {
  if (const auto status = check_stream(function, handle)) {
    return status;
  }
  constexpr int64_t kThreads = 128;
  constexpr int64_t kMostBlocks = 65535;
  KernelShape shape;
  shape.name = name;
  shape.block[0] = kThreads;
  shape.grid[0] = static_cast<unsigned>(
      std::clamp<int64_t>((elements + kThreads - 1) / kThreads, 1, kMostBlocks));
  Work work;
  work.name = name;
  work.step = [body = std::move(body), device = handle->device] {
    if (compute_enabled()) {
      body(device);
    }
    return Step::kDone;
  };
  return gemm::status_from(launch(handle->stream, shape, std::move(work)));
}

cublasStatus_t wait_for_result(const char* function, cublasHandle_t handle) {
  const cublasStatus_t status = gemm::status_from(synchronize(handle->stream));
  return status == CUBLAS_STATUS_SUCCESS
             ? status
             : gemm::fail_call(function, status, "the device failed before the result was there");
}

}  // namespace braid::vgpu::cublas
