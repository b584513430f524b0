#include "vgpu/cublas/gemm/types.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace braid::vgpu::gemm {
namespace {

struct Combination {
  Accumulator accumulator;
  cudaDataType scale, a, b, c;
};

constexpr std::array kCombinations = {
    Combination{Accumulator::kHalf, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    Combination{Accumulator::kInt32, CUDA_R_32I, CUDA_R_8I, CUDA_R_8I, CUDA_R_32I},
    Combination{Accumulator::kFloat, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF},
    Combination{Accumulator::kFloat, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    Combination{Accumulator::kFloat, CUDA_R_32F, CUDA_R_8I, CUDA_R_8I, CUDA_R_32F},
    Combination{Accumulator::kFloat, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F},
    Combination{Accumulator::kFloat, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},
    Combination{Accumulator::kFloat, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    Combination{Accumulator::kDouble, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
};

/// Whether the compute type only exists for fp32 (or fp64) operands.
bool converts_inputs(cublasComputeType_t compute) {
  switch (static_cast<int>(compute)) {
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return true;
#if CUBLAS_VER_MAJOR >= 13
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return true;
#endif
    default:
      return false;
  }
}

}  // namespace

bool is_known(cublasComputeType_t compute) {
  switch (static_cast<int>(compute)) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return true;
#if CUBLAS_VER_MAJOR >= 13
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return true;
#endif
    default:
      return false;
  }
}

bool is_pedantic(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_16F_PEDANTIC || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
         compute == CUBLAS_COMPUTE_64F_PEDANTIC || compute == CUBLAS_COMPUTE_32I_PEDANTIC;
}

Accumulator accumulator_of(cublasComputeType_t compute) {
  switch (static_cast<int>(compute)) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return Accumulator::kHalf;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return Accumulator::kInt32;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
#if CUBLAS_VER_MAJOR >= 13
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
#endif
      return Accumulator::kDouble;
    default:
      return Accumulator::kFloat;
  }
}

cudaDataType scale_type_of(cublasComputeType_t compute) {
  switch (accumulator_of(compute)) {
    case Accumulator::kHalf:
      return CUDA_R_16F;
    case Accumulator::kInt32:
      return CUDA_R_32I;
    case Accumulator::kDouble:
      return CUDA_R_64F;
    case Accumulator::kFloat:
      break;
  }
  return CUDA_R_32F;
}

bool is_supported(cublasComputeType_t compute, cudaDataType scale, cudaDataType a, cudaDataType b,
                  cudaDataType c) {
  if (!is_known(compute) || (converts_inputs(compute) && a != CUDA_R_32F)) {
    return false;
  }
  const Accumulator accumulator = accumulator_of(compute);
  return std::any_of(kCombinations.begin(), kCombinations.end(), [&](const Combination& row) {
    return row.accumulator == accumulator && row.scale == scale && row.a == a && row.b == b &&
           row.c == c;
  });
}

cublasComputeType_t apply_math_mode(cublasComputeType_t compute, cudaDataType a,
                                    cublasMath_t mode) {
  if (compute != CUBLAS_COMPUTE_32F || a != CUDA_R_32F) {
    return compute;
  }
  switch (static_cast<int>(mode) & 0xf) {  // the rest are flags
    case CUBLAS_TENSOR_OP_MATH:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    case CUBLAS_PEDANTIC_MATH:
      return CUBLAS_COMPUTE_32F_PEDANTIC;
    case CUBLAS_TF32_TENSOR_OP_MATH:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    default:
      return compute;
  }
}

InputRounding input_rounding(cublasComputeType_t compute, cudaDataType a, int compute_capability) {
  if (a != CUDA_R_32F) {
    return InputRounding::kNone;
  }
  const bool has_tf32 = compute_capability >= 80;  // and bfloat16 tensor cores
  switch (compute) {
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return InputRounding::kHalf;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return has_tf32 ? InputRounding::kBfloat16 : InputRounding::kNone;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return has_tf32 ? InputRounding::kTf32 : InputRounding::kNone;
    default:
      return InputRounding::kNone;
  }
}

double scalar_value(cudaDataType type, const void* bytes) {
  const auto read = [bytes](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (type) {
    case CUDA_R_16F:
      return float_from_half(read(uint16_t{}));
    case CUDA_R_16BF:
      return float_from_bfloat16(read(uint16_t{}));
    case CUDA_R_32F:
      return read(float{});
    case CUDA_R_32I:
      return read(int32_t{});
    default:
      return read(double{});
  }
}

const char* type_name(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
      return "CUDA_R_8I";
    case CUDA_R_16F:
      return "CUDA_R_16F";
    case CUDA_R_16BF:
      return "CUDA_R_16BF";
    case CUDA_R_32F:
      return "CUDA_R_32F";
    case CUDA_R_32I:
      return "CUDA_R_32I";
    case CUDA_R_64F:
      return "CUDA_R_64F";
    case CUDA_C_32F:
      return "CUDA_C_32F";
    case CUDA_C_64F:
      return "CUDA_C_64F";
    case CUDA_R_8F_E4M3:
      return "CUDA_R_8F_E4M3";
    case CUDA_R_8F_E5M2:
      return "CUDA_R_8F_E5M2";
    default:
      return "another cudaDataType";
  }
}

}  // namespace braid::vgpu::gemm
