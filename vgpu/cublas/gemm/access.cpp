#include "vgpu/cublas/gemm/access.hpp"

#include <limits>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::gemm {
namespace {

CUresult check_aligned(int device, const void* address, size_t bytes, size_t alignment) {
  if (bytes == 0) {
    return CUDA_SUCCESS;
  }
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0) {
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  }
  return check_access(device, address, bytes);
}

struct Shape {
  int64_t rows = 0, columns = 0;  // as stored: columns lie ld apart
  cudaDataType type = CUDA_R_32F;
};

CUresult check_operand(const GemmCall& call, const Operand& operand, const Shape& shape,
                       bool reads_memory) {
  const size_t element = element_bytes(shape.type);
  const size_t bytes = matrix_bytes(shape.rows, shape.columns, operand.ld, element);
  if (bytes == 0) {
    return CUDA_SUCCESS;
  }
  if (operand.pointer_array) {
    const CUresult array =
        check_aligned(call.device, operand.base,
                      static_cast<size_t>(call.problem.batch) * sizeof(void*), sizeof(void*));
    if (array != CUDA_SUCCESS || !reads_memory) {
      return array;
    }
  }
  for (int64_t index = 0; index < call.problem.batch; ++index) {
    const CUresult result =
        check_aligned(call.device, matrix_of(operand, shape.type, index), bytes, element);
    if (result != CUDA_SUCCESS) {
      return result;
    }
    if (!operand.pointer_array && operand.batch_stride == 0) {
      break;
    }
  }
  return CUDA_SUCCESS;
}

/// Vectors and matrices of the epilogue, each batch `stride` elements after the other.
CUresult check_batches(const GemmCall& call, const void* base, size_t bytes, int64_t stride_bytes,
                       size_t alignment) {
  for (int64_t index = 0; base != nullptr && index < call.problem.batch; ++index) {
    const auto* address = static_cast<const char*>(base) + index * stride_bytes;
    const CUresult result = check_aligned(call.device, address, bytes, alignment);
    if (result != CUDA_SUCCESS || stride_bytes == 0) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

CUresult check_epilogue(const GemmCall& call) {
  const Epilogue& epilogue = call.epilogue;
  const size_t bias_element = element_bytes(epilogue.bias_type);
  const auto bias_stride = epilogue.bias_batch_stride * static_cast<int64_t>(bias_element);
  CUresult result =
      check_batches(call, epilogue.bias, static_cast<size_t>(call.problem.m) * bias_element,
                    bias_stride, bias_element);
  if (result != CUDA_SUCCESS) {
    return result;
  }
  const int64_t outputs =
      epilogue.gradient == Epilogue::Gradient::kOfB ? call.problem.n : call.problem.m;
  result = check_batches(call, epilogue.bias_gradient, static_cast<size_t>(outputs) * bias_element,
                         bias_stride, bias_element);
  if (result != CUDA_SUCCESS) {
    return result;
  }
  const bool bit_mask =
      epilogue.activation == Activation::kRelu || epilogue.activation == Activation::kReluGradient;
  if (bit_mask) {
    return check_batches(
        call, epilogue.aux,
        matrix_bytes((call.problem.m + 7) / 8, call.problem.n, epilogue.aux_ld / 8, 1),
        epilogue.aux_batch_stride / 8, 1);
  }
  const size_t aux_element = element_bytes(epilogue.aux_type);
  return check_batches(call, epilogue.aux,
                       matrix_bytes(call.problem.m, call.problem.n, epilogue.aux_ld, aux_element),
                       epilogue.aux_batch_stride * static_cast<int64_t>(aux_element), aux_element);
}

}  // namespace

size_t matrix_bytes(int64_t rows, int64_t columns, int64_t ld, size_t element) {
  if (rows == 0 || columns == 0) {
    return 0;
  }
  constexpr size_t kTooMuch = std::numeric_limits<size_t>::max();
  size_t last_column = 0, elements = 0, bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(columns - 1), static_cast<size_t>(ld),
                             &last_column) ||
      __builtin_add_overflow(last_column, static_cast<size_t>(rows), &elements) ||
      __builtin_mul_overflow(elements, element, &bytes)) {
    return kTooMuch;
  }
  return bytes;
}

const void* matrix_of(const Operand& operand, cudaDataType type, int64_t index) {
  if (operand.pointer_array) {
    return static_cast<const void* const*>(operand.base)[index];
  }
  if (operand.base == nullptr) {
    return nullptr;
  }
  const auto bytes = static_cast<int64_t>(element_bytes(type));
  return static_cast<const char*>(operand.base) + index * operand.batch_stride * bytes;
}

CUresult check_operands(const GemmCall& call, bool reads_factors, bool reads_c, bool reads_memory) {
  const Problem& problem = call.problem;
  const auto stored = [](int64_t rows, int64_t columns, bool swap, cudaDataType type) {
    return swap ? Shape{columns, rows, type} : Shape{rows, columns, type};
  };
  if (reads_factors) {
    CUresult result = check_operand(
        call, call.a, stored(problem.m, problem.k, problem.transpose_a, problem.a_type),
        reads_memory);
    if (result != CUDA_SUCCESS) {
      return result;
    }
    result = check_operand(call, call.b,
                           stored(problem.k, problem.n, problem.transpose_b, problem.b_type),
                           reads_memory);
    if (result != CUDA_SUCCESS) {
      return result;
    }
  }
  if (reads_c) {
    const CUresult result = check_operand(
        call, call.c, stored(problem.m, problem.n, call.c.row_major, problem.c_type), reads_memory);
    if (result != CUDA_SUCCESS) {
      return result;
    }
  }
  const CUresult result = check_operand(
      call, call.d, stored(problem.m, problem.n, call.d.row_major, problem.c_type), reads_memory);
  return result != CUDA_SUCCESS ? result : check_epilogue(call);
}

}  // namespace braid::vgpu::gemm
