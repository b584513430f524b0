// NCCL's datatypes as C++ types: storage, the type sums are formed in, and rounding between them.
//
// NCCL's kernels add 16-bit floats in their own format, so every hop of a ring rounds once; 8-bit
// floats are widened to half, added there and rounded twice. float carries sums and products of two
// halves or bfloat16s exactly enough that rounding it once gives the correctly rounded result.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace braid::vgpu::nccl {

/// Plain integers and floats: computed in themselves.
template <typename T>
struct Plain {
  using Storage = T;
  using Wide = T;
  static Wide widen(Storage v) { return v; }
  static Storage narrow(Wide v) { return v; }
};

struct Half {
  using Storage = uint16_t;
  using Wide = float;

  static float widen(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
    // Scaling by 2^112 moves the exponent's bias and makes subnormals normal; exact.
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const uint32_t special = magnitude | 0x7f800000u;
    return std::bit_cast<float>(sign | ((h & 0x7c00u) == 0x7c00u ? special : finite));
  }

  static uint16_t narrow(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Below 2^-14 the sum with 1/2 rounds to half's last subnormal bit by itself.
    const uint32_t small =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t half = magnitude < 0x38800000u ? small : normal;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7fffu : half;
    return static_cast<uint16_t>(sign | half);
  }
};

struct BFloat16 {
  using Storage = uint16_t;
  using Wide = float;

  static float widen(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

  static uint16_t narrow(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
  }
};

/// An 8-bit float with `kMantissa` bits of fraction, converted through tables. Too large values
/// become the largest finite one, as CUDA's conversions do by default. `kHasInfinity`: the top
/// exponent holds infinity and NaN (E5M2); otherwise only its last code is NaN (E4M3).
template <int kExponent, int kMantissa, bool kHasInfinity>
struct Float8 {
  using Storage = uint8_t;
  using Wide = float;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr uint8_t kNan = 0x7f;
  static constexpr uint8_t kLargest = kHasInfinity ? 0x7b : 0x7e;

  static float widen(uint8_t code) { return tables().wide[code]; }
  /// Rounds to half first: NCCL's kernels add 8-bit floats in half.
  static uint8_t narrow(float wide) { return tables().narrow[Half::narrow(wide)]; }

 private:
  struct Tables {
    float wide[0x100];
    uint8_t narrow[0x10000];  // by the half's bits
    Tables() {
      for (uint32_t code = 0; code < 0x100; ++code) {
        wide[code] = decode(static_cast<uint8_t>(code));
      }
      for (uint32_t half = 0; half < 0x10000; ++half) {
        narrow[half] = encode(Half::widen(static_cast<uint16_t>(half)));
      }
    }
  };
  static const Tables& tables() {
    static const Tables* const made = new Tables;
    return *made;
  }

  static float decode(uint8_t code) {
    const int exponent = (code & 0x7f) >> kMantissa;
    const int fraction = code & ((1 << kMantissa) - 1);
    float magnitude = 0;
    if (kHasInfinity ? exponent == (1 << kExponent) - 1 : (code & 0x7f) == kNan) {
      magnitude = kHasInfinity && fraction == 0 ? std::numeric_limits<float>::infinity()
                                                : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      magnitude = std::ldexp(static_cast<float>(fraction), 1 - kBias - kMantissa);
    } else {
      magnitude =
          std::ldexp(static_cast<float>(fraction + (1 << kMantissa)), exponent - kBias - kMantissa);
    }
    return (code & 0x80) != 0 ? -magnitude : magnitude;
  }

  static uint8_t encode(float value) {
    const uint8_t sign = std::signbit(value) ? 0x80 : 0;
    if (std::isnan(value)) {
      return sign | kNan;
    }
    const float magnitude = std::fabs(value);
    int exponent = magnitude == 0 ? 1 - kBias : std::ilogb(magnitude);
    if (std::isinf(magnitude) || exponent > kBias + 1) {
      return sign | kLargest;
    }
    exponent = exponent < 1 - kBias ? 1 - kBias : exponent;
    // Units of the last place at this exponent; nearbyint rounds ties to even.
    const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, kMantissa - exponent)));
    const int code = units + ((exponent + kBias - 1) << kMantissa);
    return static_cast<uint8_t>(sign | (code > kLargest ? kLargest : code));
  }
};
using Float8E4M3 = Float8<4, 3, false>;
using Float8E5M2 = Float8<5, 2, true>;

}  // namespace braid::vgpu::nccl
