// The element-wise operations of the examples, as code for host and device.
//
// Each operation is a function object with its arguments as members: operator()(i) does element i
// of `count`. kernels.cu wraps them in kernels; host_kernels.cpp in plain loops.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

namespace examples::ops {

HOST_DEVICE inline float to_float(float value) { return value; }
HOST_DEVICE inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
HOST_DEVICE inline float to_float(__half value) { return __half2float(value); }
HOST_DEVICE inline void store(float* out, float value) { *out = value; }
HOST_DEVICE inline void store(__nv_bfloat16* out, float value) { *out = __float2bfloat16(value); }
HOST_DEVICE inline void store(__half* out, float value) { *out = __float2half(value); }

HOST_DEVICE inline uint32_t bits_of(float value) {
  union {
    float f;
    uint32_t u;
  } both = {value};
  return both.u;
}

/// A 64-bit mixing function (the finaliser of splitmix64).
HOST_DEVICE inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Uniform in [-1, 1), a function of seed and index alone.
HOST_DEVICE inline float uniform(uint64_t seed, uint64_t index) {
  const uint64_t bits = mix(mix(seed) ^ index) >> 40;  // 24 bits: exact in fp32
  return static_cast<float>(bits) * (2.0F / 16777216.0F) - 1.0F;
}

/// Fills a block of a row-major matrix that is `global_columns` wide. The values depend on the
/// position in the whole matrix, so every partition of it holds the same numbers.
template <typename T>
struct Fill {
  T* out;
  size_t count;
  size_t columns;
  size_t global_columns;
  size_t first_row;
  size_t first_column;
  uint64_t seed;
  float scale;

  HOST_DEVICE void operator()(size_t i) const {
    const size_t row = first_row + i / columns;
    const size_t column = first_column + i % columns;
    store(out + i, scale * uniform(seed, row * global_columns + column));
  }
};

constexpr float kGeluA = 0.7978845608F;  // sqrt(2/pi), the tanh approximation's factor
constexpr float kGeluB = 0.044715F;

template <typename T>
struct GeluForward {
  T* out;
  const T* in;
  size_t count;

  HOST_DEVICE void operator()(size_t i) const {
    const float x = to_float(in[i]);
    store(out + i, 0.5F * x * (1.0F + tanhf(kGeluA * (x + kGeluB * x * x * x))));
  }
};

/// grad_in = grad_out · gelu'(in)
template <typename T>
struct GeluBackward {
  T* grad_in;
  const T* grad_out;
  const T* in;
  size_t count;

  HOST_DEVICE void operator()(size_t i) const {
    const float x = to_float(in[i]);
    const float t = tanhf(kGeluA * (x + kGeluB * x * x * x));
    const float slope = kGeluA * (1.0F + 3.0F * kGeluB * x * x);
    const float derivative = 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * slope;
    store(grad_in + i, to_float(grad_out[i]) * derivative);
  }
};

/// out = a + b
template <typename T>
struct Add {
  T* out;
  const T* a;
  const T* b;
  size_t count;

  HOST_DEVICE void operator()(size_t i) const { store(out + i, to_float(a[i]) + to_float(b[i])); }
};

/// out = scale · (a − b), the gradient of a squared error
template <typename T>
struct ScaledDifference {
  T* out;
  const T* a;
  const T* b;
  float scale;
  size_t count;

  HOST_DEVICE void operator()(size_t i) const {
    store(out + i, scale * (to_float(a[i]) - to_float(b[i])));
  }
};

/// parameter −= rate · gradient
template <typename T>
struct SgdUpdate {
  T* parameter;
  const T* gradient;
  float rate;
  size_t count;

  HOST_DEVICE void operator()(size_t i) const {
    store(parameter + i, to_float(parameter[i]) - rate * to_float(gradient[i]));
  }
};

/// Row r of out is row index[r] of in.
template <typename T>
struct GatherRows {
  T* out;
  const T* in;
  const int* index;
  size_t columns;
  size_t count;  // elements of out

  HOST_DEVICE void operator()(size_t i) const {
    out[i] = in[static_cast<size_t>(index[i / columns]) * columns + i % columns];
  }
};

/// Row index[r] of out is row r of in.
template <typename T>
struct ScatterRows {
  T* out;
  const T* in;
  const int* index;
  size_t columns;
  size_t count;  // elements of in

  HOST_DEVICE void operator()(size_t i) const {
    out[static_cast<size_t>(index[i / columns]) * columns + i % columns] = in[i];
  }
};

template <typename T>
struct ToFloat {
  float* out;
  const T* in;
  size_t count;

  HOST_DEVICE void operator()(size_t i) const { out[i] = to_float(in[i]); }
};

/// Lane i hashes and squares the elements i, i + count, i + 2·count …; the host adds up the lanes.
/// A fixed number of lanes makes the sums the same in every run.
struct DigestLane {
  uint64_t hash;
  double squares;
};
template <typename T>
struct Digest {
  DigestLane* lanes;
  const T* in;
  size_t elements;
  size_t count;  // lanes

  HOST_DEVICE void operator()(size_t i) const {
    DigestLane lane = {0, 0.0};
    for (size_t j = i; j < elements; j += count) {
      const float value = to_float(in[j]);
      lane.hash += mix((static_cast<uint64_t>(bits_of(value)) << 32) ^ mix(j));
      lane.squares += static_cast<double>(value) * static_cast<double>(value);
    }
    lanes[i] = lane;
  }
};

}  // namespace examples::ops

/// Every kernel: its name without the type's suffix, and its operation.
#define EXAMPLES_FOR_EACH_OP(X)          \
  X(fill, Fill)                          \
  X(gelu_forward, GeluForward)           \
  X(gelu_backward, GeluBackward)         \
  X(add, Add)                            \
  X(scaled_difference, ScaledDifference) \
  X(sgd_update, SgdUpdate)               \
  X(gather_rows, GatherRows)             \
  X(scatter_rows, ScatterRows)           \
  X(to_float, ToFloat)                   \
  X(digest, Digest)
