// cublasSet/GetVector/Matrix: strided copies between host and device memory.
#include <cstring>
#include <memory>
#include <vector>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cublas/api/context.hpp"
#include "vgpu/cublas/gemm/access.hpp"
#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::cublas {
namespace {

enum class Direction { kToDevice, kToHost };
enum class Wait { kNo, kYes };

/// `columns` runs of `rows` elements; leading dimensions count elements.
struct Copy {
  const char* function;
  Direction direction;
  Wait wait;
  int64_t rows, columns, element;
  const void* from;
  int64_t from_ld;
  void* to;
  int64_t to_ld;
  CUstream stream;
};

void copy_runs(const Copy& copy, const void* from, void* to) {
  const size_t run = static_cast<size_t>(copy.rows * copy.element);
  for (int64_t j = 0; j < copy.columns; ++j) {
    std::memcpy(static_cast<char*>(to) + j * copy.to_ld * copy.element,
                static_cast<const char*>(from) + j * copy.from_ld * copy.element, run);
  }
}

/// Whether the device reads the host memory itself; pageable memory is staged when the call is
/// made.
bool is_device_accessible(const void* address) {
  return find_allocation(reinterpret_cast<uint64_t>(address)).has_value();
}

cublasStatus_t submit(const Copy& copy) {
  if (copy.rows < 0 || copy.columns < 0 || copy.element <= 0 || copy.from_ld < copy.rows ||
      copy.to_ld < copy.rows || copy.from_ld <= 0 || copy.to_ld <= 0) {
    return gemm::fail_call(copy.function, CUBLAS_STATUS_INVALID_VALUE,
                           "a size, element size or leading dimension is out of range");
  }
  if (copy.rows == 0 || copy.columns == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  int device = 0;
  if (!gemm::open_device(device)) {
    return gemm::fail_call(copy.function, CUBLAS_STATUS_NOT_INITIALIZED, "there is no virtual GPU");
  }
  if (copy.from == nullptr || copy.to == nullptr) {
    return gemm::fail_call(copy.function, CUBLAS_STATUS_MAPPING_ERROR, "a pointer is null");
  }
  const bool to_device = copy.direction == Direction::kToDevice;
  const void* const device_side = to_device ? copy.to : copy.from;
  const void* const host_side = to_device ? copy.from : copy.to;
  const auto element = static_cast<size_t>(copy.element);
  const size_t device_bytes =
      gemm::matrix_bytes(copy.rows, copy.columns, to_device ? copy.to_ld : copy.from_ld, element);
  if (check_access(device, device_side, device_bytes) != CUDA_SUCCESS) {
    return gemm::fail_call(copy.function, CUBLAS_STATUS_MAPPING_ERROR,
                           "the device memory is not accessible");
  }
  const bool pageable = !is_device_accessible(host_side);
  std::shared_ptr<std::vector<char>> staged;
  if (to_device && pageable) {
    const size_t bytes = gemm::matrix_bytes(copy.rows, copy.columns, copy.from_ld, element);
    const auto* begin = static_cast<const char*>(copy.from);
    staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
  }
  Work work;
  work.name = to_device ? "cuBLAS copy to device" : "cuBLAS copy to host";
  work.step = [copy, staged, device, device_side, device_bytes] {
    const CUresult access = check_access(device, device_side, device_bytes);
    if (access != CUDA_SUCCESS) {
      set_device_error(device, access);
    } else if (compute_enabled()) {
      copy_runs(copy, staged != nullptr ? staged->data() : copy.from, copy.to);
    }
    return Step::kDone;
  };
  // Announced as a launch: profilers must see that work was enqueued.
  CUresult result = launch(copy.stream, KernelShape{work.name}, std::move(work));
  const bool wait = copy.wait == Wait::kYes || (!to_device && pageable);
  if (result == CUDA_SUCCESS && wait) {
    result = synchronize(copy.stream);
  }
  return result == CUDA_SUCCESS
             ? CUBLAS_STATUS_SUCCESS
             : gemm::fail_call(copy.function, CUBLAS_STATUS_MAPPING_ERROR, "the copy failed");
}

}  // namespace
}  // namespace braid::vgpu::cublas

using namespace braid::vgpu::cublas;  // NOLINT: what follows is cuBLAS, written here

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types and names.
// A vector is a matrix of one row whose columns lie `inc` apart.
#define BRAID_DEFINE_VECTOR_COPY(NAME, INT, DIRECTION)                                           \
  cublasStatus_t NAME(INT n, INT elemSize, const void* x, INT incx, void* y, INT incy) {         \
    return submit({__func__, DIRECTION, Wait::kYes, 1, n, elemSize, x, incx, y, incy, nullptr}); \
  }
#define BRAID_DEFINE_VECTOR_COPY_ASYNC(NAME, INT, DIRECTION)                                   \
  cublasStatus_t NAME(INT n, INT elemSize, const void* x, INT incx, void* y, INT incy,         \
                      cudaStream_t stream) {                                                   \
    return submit({__func__, DIRECTION, Wait::kNo, 1, n, elemSize, x, incx, y, incy, stream}); \
  }
#define BRAID_DEFINE_MATRIX_COPY(NAME, INT, DIRECTION)                                     \
  cublasStatus_t NAME(INT rows, INT cols, INT elemSize, const void* A, INT lda, void* B,   \
                      INT ldb) {                                                           \
    return submit(                                                                         \
        {__func__, DIRECTION, Wait::kYes, rows, cols, elemSize, A, lda, B, ldb, nullptr}); \
  }
#define BRAID_DEFINE_MATRIX_COPY_ASYNC(NAME, INT, DIRECTION)                                       \
  cublasStatus_t NAME(INT rows, INT cols, INT elemSize, const void* A, INT lda, void* B, INT ldb,  \
                      cudaStream_t stream) {                                                       \
    return submit({__func__, DIRECTION, Wait::kNo, rows, cols, elemSize, A, lda, B, ldb, stream}); \
  }
// NOLINTEND(bugprone-macro-parentheses)

BRAID_DEFINE_VECTOR_COPY(cublasSetVector, int, Direction::kToDevice)
BRAID_DEFINE_VECTOR_COPY(cublasSetVector_64, int64_t, Direction::kToDevice)
BRAID_DEFINE_VECTOR_COPY(cublasGetVector, int, Direction::kToHost)
BRAID_DEFINE_VECTOR_COPY(cublasGetVector_64, int64_t, Direction::kToHost)
BRAID_DEFINE_VECTOR_COPY_ASYNC(cublasSetVectorAsync, int, Direction::kToDevice)
BRAID_DEFINE_VECTOR_COPY_ASYNC(cublasSetVectorAsync_64, int64_t, Direction::kToDevice)
BRAID_DEFINE_VECTOR_COPY_ASYNC(cublasGetVectorAsync, int, Direction::kToHost)
BRAID_DEFINE_VECTOR_COPY_ASYNC(cublasGetVectorAsync_64, int64_t, Direction::kToHost)
BRAID_DEFINE_MATRIX_COPY(cublasSetMatrix, int, Direction::kToDevice)
BRAID_DEFINE_MATRIX_COPY(cublasSetMatrix_64, int64_t, Direction::kToDevice)
BRAID_DEFINE_MATRIX_COPY(cublasGetMatrix, int, Direction::kToHost)
BRAID_DEFINE_MATRIX_COPY(cublasGetMatrix_64, int64_t, Direction::kToHost)
BRAID_DEFINE_MATRIX_COPY_ASYNC(cublasSetMatrixAsync, int, Direction::kToDevice)
BRAID_DEFINE_MATRIX_COPY_ASYNC(cublasSetMatrixAsync_64, int64_t, Direction::kToDevice)
BRAID_DEFINE_MATRIX_COPY_ASYNC(cublasGetMatrixAsync, int, Direction::kToHost)
BRAID_DEFINE_MATRIX_COPY_ASYNC(cublasGetMatrixAsync_64, int64_t, Direction::kToHost)
