// What level-1 and level-2 routines share: vectors, scalars and sending a piece of work to a
// stream.
#pragma once

#include <cublas_api.h>

#include <functional>
#include <string>
#include <vector>

#include "vgpu/cublas/api/context.hpp"
#include "vgpu/cublas/gemm/element.hpp"

namespace braid::vgpu::cublas {

/// A vector of `count` elements, `increment` apart; a negative increment walks backwards from the
/// end, as in BLAS.
struct Vector {
  const void* base = nullptr;
  cudaDataType type = CUDA_R_32F;
  int64_t count = 0;
  int64_t increment = 1;
};

/// A scalar argument: copied when the pointer mode is host, else read when the work runs.
struct ScalarArgument {
  const void* device = nullptr;
  cudaDataType type = CUDA_R_32F;
  double value = 0;
};

/// A scalar result: written to host memory before the call returns, or to device memory.
struct ScalarResult {
  void* pointer = nullptr;
  cudaDataType type = CUDA_R_32F;
  bool on_device = false;
};

ScalarArgument take_scalar(const cublasContext& handle, const void* pointer, cudaDataType type);

/// The functions below run on the executor. Each checks the access first; false means that the
/// device took the error and the work must stop.
bool check_vector(int device, const Vector& vector);
bool read_scalar(int device, ScalarArgument& scalar);
bool check_result(int device, const ScalarResult& result);
std::vector<double> read_vector(const Vector& vector);
void write_vector(const Vector& vector, const std::vector<double>& values);
void write_result(const ScalarResult& result, double value);

/// Launches `body` as kernel `name` over `elements` elements.
cublasStatus_t launch_kernel(const char* function, cublasHandle_t handle, const std::string& name,
                             int64_t elements, std::function<void(int device)> body);

/// Waits for the handle's stream, as routines with a result in host memory do.
cublasStatus_t wait_for_result(const char* function, cublasHandle_t handle);

/// Whether level-1 and level-2 routines take elements of this type.
bool is_real(cudaDataType type);

}  // namespace braid::vgpu::cublas
