#include "vgpu/nccl/reduction.hpp"

#include <cstring>
#include <type_traits>

#include "vgpu/nccl/number_formats.hpp"

namespace braid::vgpu::nccl {
namespace {

struct TypeEntry {
  size_t bytes;
  const char* name;
  const char* short_name;
};
constexpr TypeEntry kTypes[ncclNumTypes] = {
    {1, "ncclInt8", "i8"},       {1, "ncclUint8", "u8"},          {4, "ncclInt32", "i32"},
    {4, "ncclUint32", "u32"},    {8, "ncclInt64", "i64"},         {8, "ncclUint64", "u64"},
    {2, "ncclFloat16", "f16"},   {4, "ncclFloat32", "f32"},       {8, "ncclFloat64", "f64"},
    {2, "ncclBfloat16", "bf16"}, {1, "ncclFloat8e4m3", "f8e4m3"}, {1, "ncclFloat8e5m2", "f8e5m2"},
};

/// Calls `function` with the format type of a datatype.
template <typename Function>
void with_format(ncclDataType_t datatype, Function&& function) {
  switch (datatype) {
    case ncclInt8:
      return function(Plain<int8_t>{});
    case ncclUint8:
      return function(Plain<uint8_t>{});
    case ncclInt32:
      return function(Plain<int32_t>{});
    case ncclUint32:
      return function(Plain<uint32_t>{});
    case ncclInt64:
      return function(Plain<int64_t>{});
    case ncclUint64:
      return function(Plain<uint64_t>{});
    case ncclFloat16:
      return function(Half{});
    case ncclFloat32:
      return function(Plain<float>{});
    case ncclFloat64:
      return function(Plain<double>{});
    case ncclBfloat16:
      return function(BFloat16{});
    case ncclFloat8e4m3:
      return function(Float8E4M3{});
    case ncclFloat8e5m2:
      return function(Float8E5M2{});
    default:
      return;
  }
}

/// Integers wrap around, as they do on the GPU.
template <typename T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}
template <typename T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    // 64 bits: short unsigned types would be promoted to signed int and could overflow.
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
/// A NaN loses against a number; +0 is greater than -0.
template <typename T>
T larger(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a > b ? a : b;
  } else {
    const T chosen = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? b : (b != b ? a : chosen);
  }
}
template <typename T>
T smaller(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b ? a : b;
  } else {
    const T chosen = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? b : (b != b ? a : chosen);
  }
}

template <typename Format>
typename Format::Storage read_scalar(uint64_t bits) {
  typename Format::Storage scalar;
  std::memcpy(&scalar, &bits, sizeof(scalar));
  return scalar;
}

bool is_float(ncclDataType_t datatype) { return datatype >= ncclFloat16; }

bool multiplies_inputs(const Reduction& reduction) {
  return reduction.kind == ReductionKind::kPreMultiplied ||
         (reduction.kind == ReductionKind::kAverage && is_float(reduction.datatype));
}

/// sums[i] = combine(inputs[i], sums[i]) in the format's wide type.
template <typename Format, typename Combine>
void apply(const void* inputs, void* sums, size_t count, Combine combine) {
  const auto* in = static_cast<const typename Format::Storage*>(inputs);
  auto* out = static_cast<typename Format::Storage*>(sums);
  for (size_t i = 0; i < count; ++i) {
    out[i] = Format::narrow(combine(Format::widen(in[i]), Format::widen(out[i])));
  }
}

}  // namespace

const char* name_of(ReductionKind kind) {
  constexpr const char* kNames[] = {"Sum", "Prod", "Max", "Min", "PreMulSum", "Avg"};
  return kNames[static_cast<int>(kind)];
}

bool is_valid(ncclDataType_t datatype) {
  return static_cast<int>(datatype) >= 0 && static_cast<int>(datatype) < ncclNumTypes;
}
size_t bytes_of(ncclDataType_t datatype) { return kTypes[datatype].bytes; }
const char* name_of(ncclDataType_t datatype) { return kTypes[datatype].name; }
const char* short_name_of(ncclDataType_t datatype) { return kTypes[datatype].short_name; }

void begin_reduction(const Reduction& reduction, uint64_t scalar, const void* inputs, void* sums,
                     size_t count) {
  if (!multiplies_inputs(reduction)) {
    std::memmove(sums, inputs, count * bytes_of(reduction.datatype));
    return;
  }
  with_format(reduction.datatype, [&]<typename Format>(Format) {
    const auto factor = Format::widen(read_scalar<Format>(scalar));
    apply<Format>(inputs, sums, count,
                  [factor](auto input, auto) { return multiply(input, factor); });
  });
}

void add_to_reduction(const Reduction& reduction, uint64_t scalar, const void* inputs, void* sums,
                      size_t count) {
  with_format(reduction.datatype, [&]<typename Format>(Format) {
    using Wide = typename Format::Wide;
    if (multiplies_inputs(reduction)) {
      const Wide factor = Format::widen(read_scalar<Format>(scalar));
      apply<Format>(inputs, sums, count, [factor](Wide input, Wide sum) {
        return add(Format::widen(Format::narrow(multiply(input, factor))), sum);
      });
      return;
    }
    switch (reduction.kind) {
      case ReductionKind::kProduct:
        return apply<Format>(inputs, sums, count, [](Wide a, Wide b) { return multiply(a, b); });
      case ReductionKind::kMax:
        return apply<Format>(inputs, sums, count, [](Wide a, Wide b) { return larger(a, b); });
      case ReductionKind::kMin:
        return apply<Format>(inputs, sums, count, [](Wide a, Wide b) { return smaller(a, b); });
      default:
        return apply<Format>(inputs, sums, count, [](Wide a, Wide b) { return add(a, b); });
    }
  });
}

void finish_reduction(const Reduction& reduction, void* sums, size_t count) {
  if (reduction.kind != ReductionKind::kAverage || is_float(reduction.datatype)) {
    return;
  }
  with_format(reduction.datatype, [&]<typename Format>(Format) {
    using Wide = typename Format::Wide;
    if constexpr (std::is_integral_v<Wide>) {
      // An int8 sum is divided by a rank count that fits; wider arithmetic avoids overflow.
      using Divider = std::conditional_t<std::is_signed_v<Wide>, int64_t, uint64_t>;
      const auto divisor = static_cast<Divider>(reduction.ranks);
      apply<Format>(sums, sums, count, [divisor](Wide sum, Wide) {
        return static_cast<Wide>(static_cast<Divider>(sum) / divisor);
      });
    }
  });
}

uint64_t average_scalar(ncclDataType_t datatype, int ranks) {
  uint64_t bits = 0;
  if (!is_float(datatype)) {
    return bits;
  }
  with_format(datatype, [&]<typename Format>(Format) {
    const auto scalar =
        Format::narrow(static_cast<typename Format::Wide>(1.0 / static_cast<double>(ranks)));
    std::memcpy(&bits, &scalar, sizeof(scalar));
  });
  return bits;
}

}  // namespace braid::vgpu::nccl
