// Level 1: axpy, scal, dot and nrm2 for float and double, and their Ex forms for all real types.
//
// Sums are formed in runs of 1024 terms whose results are added in order: fixed for a length, so
// that equal calls give equal bits. Vectors of 16- and 32-bit elements are computed in float.
#include <algorithm>
#include <cmath>
#include <functional>

#include "vgpu/cublas/api/device_work.hpp"

namespace braid::vgpu::cublas {
namespace {

cublasStatus_t check_arguments(const char* function, cublasHandle_t handle,
                               std::initializer_list<cudaDataType> types,
                               std::initializer_list<const void*> pointers) {
  if (const auto status = check_handle(function, handle)) {
    return status;
  }
  for (const cudaDataType type : types) {
    if (!is_real(type)) {
      return gemm::fail_call(function, CUBLAS_STATUS_NOT_SUPPORTED,
                             "types other than half, bfloat16, float and double");
    }
  }
  for (const void* pointer : pointers) {
    if (pointer == nullptr) {
      return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE,
                             "a scalar or result pointer is null");
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// Rounds to the type a routine on vectors of `type` computes in.
double compute_in(cudaDataType type, double value) {
  return type == CUDA_R_64F ? value : double{static_cast<float>(value)};
}

double sum_terms(cudaDataType type, int64_t count, const std::function<double(size_t)>& term) {
  constexpr int64_t kRun = 1024;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kRun) {
    double run = 0;
    for (int64_t i = begin; i < std::min(count, begin + kRun); ++i) {
      run = compute_in(type, run + compute_in(type, term(static_cast<size_t>(i))));
    }
    total = compute_in(type, total + run);
  }
  return total;
}

cublasStatus_t axpy(const char* function, cublasHandle_t handle, const void* alpha,
                    cudaDataType alpha_type, const Vector& x, const Vector& y) {
  if (const auto status =
          check_arguments(function, handle, {alpha_type, x.type, y.type}, {alpha})) {
    return status;
  }
  if (x.count <= 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const ScalarArgument scale = take_scalar(*handle, alpha, alpha_type);
  return launch_kernel(function, handle, "axpy_kernel_val", x.count, [=](int device) {
    ScalarArgument factor = scale;
    if (!read_scalar(device, factor) || !check_vector(device, x) || !check_vector(device, y)) {
      return;
    }
    const std::vector<double> from = read_vector(x);
    std::vector<double> to = read_vector(y);
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = compute_in(y.type, to[i] + compute_in(y.type, factor.value * from[i]));
    }
    write_vector(y, to);
  });
}

cublasStatus_t scal(const char* function, cublasHandle_t handle, const void* alpha,
                    cudaDataType alpha_type, const Vector& x) {
  if (const auto status = check_arguments(function, handle, {alpha_type, x.type}, {alpha})) {
    return status;
  }
  if (x.count <= 0 || x.increment <= 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const ScalarArgument scale = take_scalar(*handle, alpha, alpha_type);
  return launch_kernel(function, handle, "scal_kernel_val", x.count, [=](int device) {
    ScalarArgument factor = scale;
    if (!read_scalar(device, factor) || !check_vector(device, x)) {
      return;
    }
    std::vector<double> values = read_vector(x);
    for (double& value : values) {
      value *= factor.value;
    }
    write_vector(x, values);
  });
}

/// Sums on the device and hands the result over by the handle's pointer mode.
cublasStatus_t reduce(const char* function, cublasHandle_t handle, const char* kernel,
                      const Vector& x, const Vector& y, void* result, cudaDataType result_type,
                      std::function<double(const Vector&, const Vector&)> value) {
  if (const auto status =
          check_arguments(function, handle, {x.type, y.type, result_type}, {result})) {
    return status;
  }
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  const ScalarResult target{result, result_type, on_device};
  const Vector from{x.base, x.type, std::max<int64_t>(0, x.count), x.increment};
  const Vector with{y.base, y.type, std::max<int64_t>(0, y.count), y.increment};
  const auto status = launch_kernel(
      function, handle, kernel, from.count, [=, value = std::move(value)](int device) {
        if (check_vector(device, from) && check_vector(device, with) &&
            check_result(device, target)) {
          write_result(target, value(from, with));
        }
      });
  return status != CUBLAS_STATUS_SUCCESS || on_device ? status : wait_for_result(function, handle);
}

cublasStatus_t dot(const char* function, cublasHandle_t handle, const Vector& x, const Vector& y,
                   void* result, cudaDataType result_type) {
  return reduce(function, handle, "dot_kernel", x, y, result, result_type,
                [](const Vector& left, const Vector& right) {
                  const std::vector<double> a = read_vector(left), b = read_vector(right);
                  return sum_terms(left.type, left.count, [&](size_t i) { return a[i] * b[i]; });
                });
}

cublasStatus_t nrm2(const char* function, cublasHandle_t handle, const Vector& x, void* result,
                    cudaDataType result_type) {
  return reduce(function, handle, "nrm2_kernel", x, x, result, result_type,
                [](const Vector& vector, const Vector&) {
                  // Scaled by the largest element, so that squares neither overflow nor vanish.
                  const std::vector<double> values = read_vector(vector);
                  double largest = 0;
                  for (const double value : values) {
                    largest = std::fabs(value) <= largest ? largest : std::fabs(value);
                  }
                  if (largest == 0 || !std::isfinite(largest)) {
                    return largest;
                  }
                  return largest * std::sqrt(sum_terms(vector.type, vector.count, [&](size_t i) {
                           return values[i] / largest * (values[i] / largest);
                         }));
                });
}

}  // namespace
}  // namespace braid::vgpu::cublas

using namespace braid::vgpu::cublas;  // NOLINT: the definitions below are cuBLAS's

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types and names.
#define BRAID_DEFINE_VECTORS(LETTER, SUFFIX, INT, ELEMENT, TYPE)                                   \
  cublasStatus_t cublas##LETTER##axpy_v2##SUFFIX(cublasHandle_t handle, INT n,                     \
                                                 const ELEMENT* alpha, const ELEMENT* x, INT incx, \
                                                 ELEMENT* y, INT incy) {                           \
    return axpy(__func__, handle, alpha, TYPE, {x, TYPE, n, incx}, {y, TYPE, n, incy});            \
  }                                                                                                \
  cublasStatus_t cublas##LETTER##scal_v2##SUFFIX(cublasHandle_t handle, INT n,                     \
                                                 const ELEMENT* alpha, ELEMENT* x, INT incx) {     \
    return scal(__func__, handle, alpha, TYPE, {x, TYPE, n, incx});                                \
  }                                                                                                \
  cublasStatus_t cublas##LETTER##dot_v2##SUFFIX(cublasHandle_t handle, INT n, const ELEMENT* x,    \
                                                INT incx, const ELEMENT* y, INT incy,              \
                                                ELEMENT* result) {                                 \
    return dot(__func__, handle, {x, TYPE, n, incx}, {y, TYPE, n, incy}, result, TYPE);            \
  }                                                                                                \
  cublasStatus_t cublas##LETTER##nrm2_v2##SUFFIX(cublasHandle_t handle, INT n, const ELEMENT* x,   \
                                                 INT incx, ELEMENT* result) {                      \
    return nrm2(__func__, handle, {x, TYPE, n, incx}, result, TYPE);                               \
  }

#define BRAID_DEFINE_VECTORS_EX(SUFFIX, INT)                                                    \
  cublasStatus_t cublasAxpyEx##SUFFIX(                                                          \
      cublasHandle_t handle, INT n, const void* alpha, cudaDataType alphaType, const void* x,   \
      cudaDataType xType, INT incx, void* y, cudaDataType yType, INT incy, cudaDataType) {      \
    return axpy(__func__, handle, alpha, alphaType, {x, xType, n, incx}, {y, yType, n, incy});  \
  }                                                                                             \
  cublasStatus_t cublasScalEx##SUFFIX(cublasHandle_t handle, INT n, const void* alpha,          \
                                      cudaDataType alphaType, void* x, cudaDataType xType,      \
                                      INT incx, cudaDataType) {                                 \
    return scal(__func__, handle, alpha, alphaType, {x, xType, n, incx});                       \
  }                                                                                             \
  cublasStatus_t cublasDotEx##SUFFIX(                                                           \
      cublasHandle_t handle, INT n, const void* x, cudaDataType xType, INT incx, const void* y, \
      cudaDataType yType, INT incy, void* result, cudaDataType resultType, cudaDataType) {      \
    return dot(__func__, handle, {x, xType, n, incx}, {y, yType, n, incy}, result, resultType); \
  }                                                                                             \
  cublasStatus_t cublasNrm2Ex##SUFFIX(cublasHandle_t handle, INT n, const void* x,              \
                                      cudaDataType xType, INT incx, void* result,               \
                                      cudaDataType resultType, cudaDataType) {                  \
    return nrm2(__func__, handle, {x, xType, n, incx}, result, resultType);                     \
  }
// NOLINTEND(bugprone-macro-parentheses)

BRAID_DEFINE_VECTORS(S, , int, float, CUDA_R_32F)
BRAID_DEFINE_VECTORS(S, _64, int64_t, float, CUDA_R_32F)
BRAID_DEFINE_VECTORS(D, , int, double, CUDA_R_64F)
BRAID_DEFINE_VECTORS(D, _64, int64_t, double, CUDA_R_64F)
BRAID_DEFINE_VECTORS_EX(, int)
BRAID_DEFINE_VECTORS_EX(_64, int64_t)
