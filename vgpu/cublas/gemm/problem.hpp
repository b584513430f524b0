// A matrix multiplication as cuBLAS and cuBLASLt describe it, in one form for both.
//
//   D[b] = epilogue(alpha * op(A[b]) * op(B[b]) + beta * C[b])      b = 0 … batch-1
//
// Everything a call needs at execution is in here: host scalars are copied, device scalars and
// pointer arrays are read when the work runs, as the real libraries do.
#pragma once

#include <cublasLt.h>
#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/cublas/gemm/element.hpp"

namespace braid::vgpu::gemm {

/// Sizes and types; all that the choice of a kernel may depend on.
struct Problem {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  /// Whether the stored matrix is k×m (A) or n×k (B), in column-major terms.
  bool transpose_a = false, transpose_b = false;
  cudaDataType a_type = CUDA_R_32F, b_type = CUDA_R_32F, c_type = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  InputRounding rounding = InputRounding::kNone;
};

/// One operand of all batches. Element (r, c) of a column-major matrix is at r + c * ld; C and D
/// may also be row-major (r * ld + c).
struct Operand {
  const void* base = nullptr;  // first matrix, or device array of `batch` pointers
  bool pointer_array = false;
  int64_t ld = 1;
  int64_t batch_stride = 0;  // elements
  bool row_major = false;    // C and D only: A and B are described by their transpose flag
};

/// alpha or beta: a value taken when the call was made, or a device pointer.
struct Scalar {
  const void* device = nullptr;
  alignas(8) std::array<unsigned char, 8> value{};
};

enum class Activation { kNone, kRelu, kGelu, kReluGradient, kGeluGradient };

/// What happens between the accumulators and D (cublasLtEpilogue_t, taken apart).
struct Epilogue {
  Activation activation = Activation::kNone;
  const void* bias = nullptr;  // m elements, added to every column
  cudaDataType bias_type = CUDA_R_32F;
  int64_t bias_batch_stride = 0;
  void* bias_gradient = nullptr;  // of bias_type; see `gradient`
  enum class Gradient { kNone, kOfD, kOfA, kOfB } gradient = Gradient::kNone;
  /// ReLU: one bit an element, bit i + j * aux_ld. GELU: its input, of aux_type.
  void* aux = nullptr;
  cudaDataType aux_type = CUDA_R_32F;
  int64_t aux_ld = 0;
  int64_t aux_batch_stride = 0;  // elements (ReLU: bits)
};

/// The kernel that will run. Two problems with the same choice add the terms of an element in the
/// same order; see kernel_choice.hpp.
struct KernelChoice {
  int algorithm = 0;  // index into the catalogue's families, cublasLt's algo id
  int tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  int tile_m = 0, tile_n = 0;
  int stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  int slices = 1;   // parts of K summed apart inside a CTA
  int split_k = 1;  // parts of K summed apart by different CTAs, joined by a second kernel
};

/// Device memory for split-K partial sums. Without a pointer the call brings its own.
struct Workspace {
  void* pointer = nullptr;
  size_t bytes = 0;
};

struct GemmCall {
  Problem problem;
  Operand a, b, c, d;
  Scalar alpha, beta;
  cudaDataType scale_type = CUDA_R_32F;
  Epilogue epilogue;
  KernelChoice kernel;
  Workspace workspace;
  int device = 0;
  CUstream stream = nullptr;
};

/// Bytes split-K needs: a partial result per part, in the accumulator's type.
size_t workspace_bytes(const Problem& problem, const KernelChoice& kernel);

/// Appends the call to its stream: one kernel, and one more to join the parts of a split K. Nothing
/// is appended when the result has no element.
cublasStatus_t enqueue(const GemmCall& call);

/// What a CUDA error means to a cuBLAS caller.
cublasStatus_t status_from(CUresult result);

}  // namespace braid::vgpu::gemm
