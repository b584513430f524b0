#include <algorithm>

#include "common/check.hpp"
#include "common/kernel_ops.hpp"
#include "common/kernels.hpp"

namespace {

template <typename Op>
__device__ void for_each_element(const Op& op) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < op.count;
       i += stride) {
    op(i);
  }
}

}  // namespace

// C linkage gives the kernels plain names: fill_f32, fill_bf16, fill_f16 …
#define DEFINE_KERNELS(name, Op)                                                               \
  extern "C" __global__ void name##_f32(examples::ops::Op<float> op) { for_each_element(op); } \
  extern "C" __global__ void name##_bf16(examples::ops::Op<__nv_bfloat16> op) {                \
    for_each_element(op);                                                                      \
  }                                                                                            \
  extern "C" __global__ void name##_f16(examples::ops::Op<__half> op) { for_each_element(op); }
EXAMPLES_FOR_EACH_OP(DEFINE_KERNELS)

namespace examples {
namespace {

constexpr unsigned kBlockSize = 256;
constexpr size_t kMaxBlocks = 4096;

template <typename Op>
void launch(void (*kernel)(Op), const Op& op, cudaStream_t stream) {
  if (op.count == 0) {
    return;
  }
  const size_t blocks = std::min(kMaxBlocks, (op.count + kBlockSize - 1) / kBlockSize);
  kernel<<<static_cast<unsigned>(blocks), kBlockSize, 0, stream>>>(op);
  CUDA_CHECK(cudaGetLastError());
}

template <typename T>
T* as(void* pointer) {
  return static_cast<T*>(pointer);
}
template <typename T>
const T* as(const void* pointer) {
  return static_cast<const T*>(pointer);
}

}  // namespace

// Launches the kernel of the run-time type. The arguments are the operation's members, with T for
// the element type.
#define LAUNCH(name, Op, type, stream, ...)                 \
  switch (type) {                                           \
    case DataType::kFloat32: {                              \
      using T = float;                                      \
      launch(name##_f32, ops::Op<T>{__VA_ARGS__}, stream);  \
      break;                                                \
    }                                                       \
    case DataType::kBfloat16: {                             \
      using T = __nv_bfloat16;                              \
      launch(name##_bf16, ops::Op<T>{__VA_ARGS__}, stream); \
      break;                                                \
    }                                                       \
    case DataType::kFloat16: {                              \
      using T = __half;                                     \
      launch(name##_f16, ops::Op<T>{__VA_ARGS__}, stream);  \
      break;                                                \
    }                                                       \
  }

void fill(DataType type, void* out, const MatrixBlock& block, uint64_t seed, float scale,
          cudaStream_t stream) {
  LAUNCH(fill, Fill, type, stream, as<T>(out), block.rows * block.columns, block.columns,
         block.global_columns, block.first_row, block.first_column, seed, scale)
}

void gelu_forward(DataType type, void* out, const void* in, size_t count, cudaStream_t stream) {
  LAUNCH(gelu_forward, GeluForward, type, stream, as<T>(out), as<T>(in), count)
}

void gelu_backward(DataType type, void* grad_in, const void* grad_out, const void* in, size_t count,
                   cudaStream_t stream) {
  LAUNCH(gelu_backward, GeluBackward, type, stream, as<T>(grad_in), as<T>(grad_out), as<T>(in),
         count)
}

void add(DataType type, void* out, const void* a, const void* b, size_t count,
         cudaStream_t stream) {
  LAUNCH(add, Add, type, stream, as<T>(out), as<T>(a), as<T>(b), count)
}

void scaled_difference(DataType type, void* out, const void* a, const void* b, float scale,
                       size_t count, cudaStream_t stream) {
  LAUNCH(scaled_difference, ScaledDifference, type, stream, as<T>(out), as<T>(a), as<T>(b), scale,
         count)
}

void sgd_update(DataType type, void* parameter, const void* gradient, float rate, size_t count,
                cudaStream_t stream) {
  LAUNCH(sgd_update, SgdUpdate, type, stream, as<T>(parameter), as<T>(gradient), rate, count)
}

void gather_rows(DataType type, void* out, const void* in, const int* index, size_t rows,
                 size_t columns, cudaStream_t stream) {
  LAUNCH(gather_rows, GatherRows, type, stream, as<T>(out), as<T>(in), index, columns,
         rows * columns)
}

void scatter_rows(DataType type, void* out, const void* in, const int* index, size_t rows,
                  size_t columns, cudaStream_t stream) {
  LAUNCH(scatter_rows, ScatterRows, type, stream, as<T>(out), as<T>(in), index, columns,
         rows * columns)
}

void to_float(DataType type, float* out, const void* in, size_t count, cudaStream_t stream) {
  LAUNCH(to_float, ToFloat, type, stream, out, as<T>(in), count)
}

void digest(DataType type, ops::DigestLane* lanes, size_t lane_count, const void* in,
            size_t elements, cudaStream_t stream) {
  LAUNCH(digest, Digest, type, stream, lanes, as<T>(in), elements, lane_count)
}

}  // namespace examples
