#include "vgpu/cublas/gemm/element.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace braid::vgpu::gemm {
namespace {

template <typename T>
T round_input(InputRounding rounding, T value) {
  const float narrow = static_cast<float>(value);
  switch (rounding) {
    case InputRounding::kTf32:
      return round_to_tf32(narrow);
    case InputRounding::kHalf:
      return float_from_half(half_from_float(narrow));
    case InputRounding::kBfloat16:
      return float_from_bfloat16(bfloat16_from_float(narrow));
    case InputRounding::kNone:
      break;
  }
  return value;
}

/// Calls `body` with a function that turns the stored type of `type` into T, and its pointer type.
template <typename T, typename Body>
void with_reader(cudaDataType type, const void* base, Body body) {
  switch (type) {
    case CUDA_R_16F:
      body(static_cast<const uint16_t*>(base), [](uint16_t v) { return T(float_from_half(v)); });
      break;
    case CUDA_R_16BF:
      body(static_cast<const uint16_t*>(base),
           [](uint16_t v) { return T(float_from_bfloat16(v)); });
      break;
    case CUDA_R_32F:
      body(static_cast<const float*>(base), [](float v) { return T(v); });
      break;
    case CUDA_R_64F:
      body(static_cast<const double*>(base), [](double v) { return T(v); });
      break;
    case CUDA_R_8I:
      body(static_cast<const int8_t*>(base), [](int8_t v) { return T(v); });
      break;
    case CUDA_R_32I:
      body(static_cast<const int32_t*>(base), [](int32_t v) { return T(v); });
      break;
    default:  // refused when the call was made
      break;
  }
}

int32_t saturate_to_int32(double value) {
  if (std::isnan(value)) {
    return 0;
  }
  const double low = std::numeric_limits<int32_t>::min();
  const double high = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::nearbyint(std::clamp(value, low, high)));
}

}  // namespace

template <typename T>
void load_run(cudaDataType type, InputRounding rounding, const void* base, int64_t offset,
              int64_t count, T* out) {
  load_strided(type, base, offset, 1, count, out);
  if (rounding != InputRounding::kNone) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = round_input(rounding, out[i]);
    }
  }
}

template <typename T>
void load_strided(cudaDataType type, const void* base, int64_t offset, int64_t stride,
                  int64_t count, T* out) {
  with_reader<T>(type, base, [&](const auto* source, auto convert) {
    source += offset;
    if (stride == 1) {  // the loop the compiler can vectorise
      for (int64_t i = 0; i < count; ++i) {
        out[i] = convert(source[i]);
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      out[i] = convert(source[i * stride]);
    }
  });
}

template <typename T>
void store_strided(cudaDataType type, void* base, int64_t offset, int64_t stride, int64_t count,
                   const T* values) {
  const auto write = [&](auto* target, auto convert) {
    target += offset;
    for (int64_t i = 0; i < count; ++i) {
      target[i * stride] = convert(values[i]);
    }
  };
  switch (type) {
    case CUDA_R_16F:
      write(static_cast<uint16_t*>(base), [](T v) { return half_from_float(float(v)); });
      break;
    case CUDA_R_16BF:
      write(static_cast<uint16_t*>(base), [](T v) { return bfloat16_from_float(float(v)); });
      break;
    case CUDA_R_32F:
      write(static_cast<float*>(base), [](T v) { return float(v); });
      break;
    case CUDA_R_64F:
      write(static_cast<double*>(base), [](T v) { return double(v); });
      break;
    case CUDA_R_32I:
      write(static_cast<int32_t*>(base), [](T v) { return saturate_to_int32(double(v)); });
      break;
    default:  // refused when the call was made
      break;
  }
}

template void load_run(cudaDataType, InputRounding, const void*, int64_t, int64_t, float*);
template void load_run(cudaDataType, InputRounding, const void*, int64_t, int64_t, double*);
template void load_strided(cudaDataType, const void*, int64_t, int64_t, int64_t, float*);
template void load_strided(cudaDataType, const void*, int64_t, int64_t, int64_t, double*);
template void store_strided(cudaDataType, void*, int64_t, int64_t, int64_t, const float*);
template void store_strided(cudaDataType, void*, int64_t, int64_t, int64_t, const double*);

}  // namespace braid::vgpu::gemm
