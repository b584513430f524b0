// Element types of matrices: sizes, and conversions to and from the type a GEMM computes in.
//
// All roundings are to nearest, ties to even, as the GPU's stores do; TF32 rounds ties away from
// zero, as cvt.rna.tf32 does on the operands of a tensor core.
#pragma once

#include <library_types.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace braid::vgpu::gemm {

/// Bytes of one element; 0 for a type that no GEMM here takes.
constexpr size_t element_bytes(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_64F:
      return 8;
    default:
      return 0;
  }
}

inline float float_from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t bfloat16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

inline float float_from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t magnitude = bits & 0x7fffU;
  // A subnormal half is its integer value times 2^-24, which a float holds exactly.
  const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  const uint32_t normal = (magnitude << 13) + ((127U - 15U) << 23);
  const uint32_t special = (magnitude << 13) | 0x7f800000U;  // infinity or NaN
  const uint32_t value = magnitude < 0x400U ? subnormal : (magnitude < 0x7c00U ? normal : special);
  return std::bit_cast<float>(value | sign);
}

inline uint16_t half_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  // Below 2^-14 the result is subnormal: adding 0.5 lets the float adder round at 2^-24.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5F);
  const uint32_t normal =
      (magnitude - ((127U - 15U) << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  uint32_t result = magnitude < 0x38800000U ? subnormal : normal;
  result = magnitude >= 0x477ff000U ? 0x7c00U : result;  // 65520 and above: infinity
  result = magnitude > 0x7f800000U ? 0x7e00U : result;
  return static_cast<uint16_t>(result | sign);
}

inline float round_to_tf32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x1000U) & ~0x1fffU;
  return std::bit_cast<float>((bits & 0x7f800000U) == 0x7f800000U ? bits : rounded);
}

/// How operands are rounded before they are multiplied (the FAST compute types).
enum class InputRounding { kNone, kTf32, kHalf, kBfloat16 };

/// Reads `count` neighbouring elements starting `offset` elements after `base`.
template <typename T>
void load_run(cudaDataType type, InputRounding rounding, const void* base, int64_t offset,
              int64_t count, T* out);

/// Reads `count` elements that lie `stride` elements apart, without rounding.
template <typename T>
void load_strided(cudaDataType type, const void* base, int64_t offset, int64_t stride,
                  int64_t count, T* out);

/// Writes `count` elements `stride` elements apart, rounded to `type`.
template <typename T>
void store_strided(cudaDataType type, void* base, int64_t offset, int64_t stride, int64_t count,
                   const T* values);

}  // namespace braid::vgpu::gemm
