// Number formats against the CUDA headers' own host conversions, code by code.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "vgpu/nccl/number_formats.hpp"
#include "vgpu/nccl/reduction.hpp"

namespace braid::vgpu::nccl {
namespace {

template <typename Bits, typename Value>
Bits bits_of(const Value& value) {
  return std::bit_cast<Bits>(value);
}

template <typename Value, typename Bits>
Value value_of(Bits bits) {
  return std::bit_cast<Value>(bits);
}

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : bits_of<uint32_t>(a) == bits_of<uint32_t>(b);
}

TEST(NcclFormats, EveryHalfIsWidenedAsCudaDoes) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float expected = __half2float(value_of<__half>(static_cast<uint16_t>(code)));
    ASSERT_TRUE(same(Half::widen(static_cast<uint16_t>(code)), expected)) << code;
  }
}

TEST(NcclFormats, EveryBfloat16IsWidenedAsCudaDoes) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float expected = __bfloat162float(value_of<__nv_bfloat16>(static_cast<uint16_t>(code)));
    ASSERT_TRUE(same(BFloat16::widen(static_cast<uint16_t>(code)), expected)) << code;
  }
}

TEST(NcclFormats, FloatsAreRoundedAsCudaDoes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 2'000'000; ++i) {
    uint32_t bits = random();
    if (i % 2 == 0) {  // near half's range, with ties
      bits = (bits & 0x8fffe000u) | ((100u + random() % 45u) << 23) | ((random() % 3u) << 12);
    }
    const float value = value_of<float>(bits);
    if (std::isnan(value)) {
      continue;
    }
    ASSERT_EQ(Half::narrow(value), bits_of<uint16_t>(__float2half_rn(value))) << value;
    ASSERT_EQ(BFloat16::narrow(value), bits_of<uint16_t>(__float2bfloat16_rn(value))) << value;
  }
}

TEST(NcclFormats, EightBitFloatsAreConvertedAsCudaDoes) {
  for (uint32_t code = 0; code < 0x100; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    const __half e4m3(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3));
    const __half e5m2(__nv_cvt_fp8_to_halfraw(byte, __NV_E5M2));
    ASSERT_TRUE(same(Float8E4M3::widen(byte), __half2float(e4m3))) << code;
    ASSERT_TRUE(same(Float8E5M2::widen(byte), __half2float(e5m2))) << code;
  }
  for (uint32_t code = 0; code < 0x10000; ++code) {  // every half, so every sum there can be
    const auto half = static_cast<uint16_t>(code);
    const float value = Half::widen(half);
    __half_raw raw;
    raw.x = half;
    if (std::isnan(value)) {
      continue;
    }
    ASSERT_EQ(Float8E4M3::narrow(value), __nv_cvt_halfraw_to_fp8(raw, __NV_SATFINITE, __NV_E4M3))
        << value;
    ASSERT_EQ(Float8E5M2::narrow(value), __nv_cvt_halfraw_to_fp8(raw, __NV_SATFINITE, __NV_E5M2))
        << value;
  }
}

TEST(NcclReduction, IntegersWrapAround) {
  int8_t sum = 127;
  const int8_t one = 1;
  add_to_reduction({ncclInt8, ReductionKind::kSum, 2}, 0, &one, &sum, 1);
  EXPECT_EQ(sum, -128);
  int64_t product = INT64_MAX;
  const int64_t two = 2;
  add_to_reduction({ncclInt64, ReductionKind::kProduct, 2}, 0, &two, &product, 1);
  EXPECT_EQ(product, -2);
}

TEST(NcclReduction, IntegerAveragesAreCutTowardsZero) {
  int32_t sums[] = {7, -7, 9};
  finish_reduction({ncclInt32, ReductionKind::kAverage, 4}, sums, 3);
  EXPECT_EQ(sums[0], 1);
  EXPECT_EQ(sums[1], -1);
  EXPECT_EQ(sums[2], 2);
}

TEST(NcclReduction, AverageOfFloatsMultipliesByTheRoundedReciprocal) {
  const float third = 1.0f / 3.0f;
  float sum = 0;
  const float input = 10.0f;
  const uint64_t scalar = average_scalar(ncclFloat32, 3);
  begin_reduction({ncclFloat32, ReductionKind::kAverage, 3}, scalar, &input, &sum, 1);
  EXPECT_EQ(sum, input * third);
}

TEST(NcclReduction, NumbersWinAgainstNanInMinAndMax) {
  float maximum = std::nanf("");
  const float one = 1;
  add_to_reduction({ncclFloat32, ReductionKind::kMax, 2}, 0, &one, &maximum, 1);
  EXPECT_EQ(maximum, 1.0f);
  float zero = 0.0f;
  const float negative_zero = -0.0f;
  add_to_reduction({ncclFloat32, ReductionKind::kMin, 2}, 0, &negative_zero, &zero, 1);
  EXPECT_TRUE(std::signbit(zero));
}

}  // namespace
}  // namespace braid::vgpu::nccl
