// GEMMs against a naive reference in double: types, transposes, leading dimensions, scalars,
// batches.
#include <cstring>

#include "cublas_support.hpp"

namespace braid::cublas_test {
namespace {

struct Types {
  cudaDataType a, c;
  cublasComputeType_t compute;
  const char* name;
};

constexpr Types kTypes[] = {
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, "fp32"},
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, "fp32_pedantic"},
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, "tf32"},
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF, "fast_bf16"},
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16F, "fast_fp16"},
    {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, "fp64"},
    {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, "fp16"},
    {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, "fp16_to_fp32"},
    {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, "fp16_half_sums"},
    {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, "bf16"},
    {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, "bf16_to_fp32"},
    {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, "int8"},
    {CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F, "int8_to_fp32"},
};

/// A scalar in the scale type of a compute type.
std::vector<uint8_t> scalar_bytes(cublasComputeType_t compute, double value) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
      return encode(CUDA_R_16F, {value});
    case CUBLAS_COMPUTE_64F:
      return encode(CUDA_R_64F, {value});
    case CUBLAS_COMPUTE_32I:
      return encode(CUDA_R_32I, {value});
    default:
      return encode(CUDA_R_32F, {value});
  }
}

/// Largest relative error of one product, from rounding the inputs.
double input_error(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return 2.1 * 0x1p-11;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return 2.1 * 0x1p-8;
    default:
      return 0;
  }
}

double sum_roundoff(const Types& types) {
  switch (types.compute) {
    case CUBLAS_COMPUTE_16F:
      return 0x1p-11;
    case CUBLAS_COMPUTE_64F:
      return 0x1p-53;
    case CUBLAS_COMPUTE_32I:
      return 0;
    default:
      return 0x1p-24;
  }
}

struct Shape {
  int64_t m, n, k;
  bool transa, transb;
  int64_t pad_a, pad_b, pad_c;  // added to the least leading dimensions
  double alpha, beta;
};

class GemmTypes : public CublasTest, public ::testing::WithParamInterface<Types> {
 protected:
  void check(const Shape& shape) {
    const Types& types = GetParam();
    SCOPED_TRACE(::testing::Message() << "m " << shape.m << " n " << shape.n << " k " << shape.k
                                      << " transa " << shape.transa << " transb " << shape.transb
                                      << " alpha " << shape.alpha << " beta " << shape.beta);
    const int64_t lda = std::max<int64_t>(1, shape.transa ? shape.k : shape.m) + shape.pad_a;
    const int64_t ldb = std::max<int64_t>(1, shape.transb ? shape.n : shape.k) + shape.pad_b;
    const int64_t ldc = std::max<int64_t>(1, shape.m) + shape.pad_c;
    const auto size = [](int64_t ld, int64_t columns) { return static_cast<size_t>(ld * columns); };
    const auto a = random(types.a, size(lda, shape.transa ? shape.m : shape.k));
    const auto b = random(types.a, size(ldb, shape.transb ? shape.k : shape.n));
    auto c = random(types.c, size(ldc, shape.n));
    if (shape.beta == 0 && types.c != CUDA_R_32I && shape.m > 0 && shape.n > 0) {
      c[0] = std::nan("");  // beta 0 must not read C
    }
    const auto alpha = scalar_bytes(types.compute, shape.alpha);
    const auto beta = scalar_bytes(types.compute, shape.beta);
    DeviceBytes device_a(encode(types.a, a)), device_b(encode(types.a, b));
    DeviceBytes device_c(encode(types.c, c));
    ASSERT_CUBLAS(cublasGemmEx(handle_, shape.transa ? CUBLAS_OP_T : CUBLAS_OP_N,
                               shape.transb ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(shape.m),
                               static_cast<int>(shape.n), static_cast<int>(shape.k), alpha.data(),
                               device_a.as(), types.a, static_cast<int>(lda), device_b.as(),
                               types.a, static_cast<int>(ldb), beta.data(), device_c.as(), types.c,
                               static_cast<int>(ldc), types.compute, CUBLAS_GEMM_DEFAULT));
    const auto result = decode(types.c, device_c.get());
    for (int64_t j = 0; j < shape.n; ++j) {
      for (int64_t i = 0; i < ldc; ++i) {
        const auto index = static_cast<size_t>(i + j * ldc);
        if (i >= shape.m) {
          ASSERT_EQ(result[index], c[index]) << "padding at " << i << ", " << j;
          continue;
        }
        const Dot dot = dot_of({&a, lda}, shape.transa, {&b, ldb}, shape.transb, i, j, shape.k);
        const double old = shape.beta == 0 ? 0 : shape.beta * c[index];
        const double expected = shape.alpha * dot.value + old;
        const double magnitude = std::fabs(shape.alpha) * dot.magnitude + std::fabs(old);
        const double bound =
            magnitude * (input_error(types.compute) +
                         sum_roundoff(types) * (static_cast<double>(shape.k) + 3)) +
            std::fabs(expected) * roundoff(types.c) * 1.01 + 1e-7 * roundoff(types.c);
        ASSERT_NEAR(result[index], expected, bound) << "at " << i << ", " << j;
      }
    }
  }
};

TEST_P(GemmTypes, MatchesReference) {
  std::uniform_int_distribution<int64_t> size(1, 70), pad(0, 5), pick(0, 3);
  const bool integers = GetParam().c == CUDA_R_32I;
  for (int round = 0; round < 4; ++round) {
    for (const bool transa : {false, true}) {
      for (const bool transb : {false, true}) {
        const double alphas[] = {1, integers ? -2 : -0.5, integers ? 3 : 1.5, 0};
        const double betas[] = {0, 1, integers ? -3 : 0.25, 0};
        check({size(random_), size(random_), size(random_), transa, transb, pad(random_),
               pad(random_), pad(random_), alphas[pick(random_)], betas[pick(random_)]});
      }
    }
  }
}

// Larger than a panel in M, N and K, so that every seam is crossed.
TEST_P(GemmTypes, CrossesPanels) { check({530, 270, 150, true, false, 1, 2, 3, 1, 1}); }

TEST_P(GemmTypes, ReadsNothingWithoutDepth) {
  check({5, 7, 0, false, false, 0, 0, 2, 1, 0.0});
  check({5, 7, 0, false, false, 0, 0, 0, 1, 2.0});
}

TEST_P(GemmTypes, EmptyResultsAreFine) {
  check({0, 7, 3, false, false, 0, 0, 0, 1, 0});
  check({7, 0, 3, false, true, 0, 0, 0, 1, 0});
}

INSTANTIATE_TEST_SUITE_P(All, GemmTypes, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(info.param.name); });

class Gemm : public CublasTest {};

TEST_F(Gemm, Int32WrapsLikeItsAccumulators) {
  const std::vector<double> a(4, 100), b(4, 100);
  DeviceBytes device_a(encode(CUDA_R_8I, a)), device_b(encode(CUDA_R_8I, b)), c(4);
  const int32_t alpha = 100000, beta = 0;
  ASSERT_CUBLAS(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 4, &alpha, device_a.as(),
                             CUDA_R_8I, 1, device_b.as(), CUDA_R_8I, 4, &beta, c.as(), CUDA_R_32I,
                             1, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
  const uint32_t expected = 100000U * 40000U;
  EXPECT_EQ(decode(CUDA_R_32I, c.get())[0], static_cast<int32_t>(expected));
}

TEST_F(Gemm, HalfSumsOverflowWhereFloatSumsDoNot) {
  const std::vector<double> ones(512, 1), large(512, 1000);
  DeviceBytes a(encode(CUDA_R_16F, ones)), b(encode(CUDA_R_16F, large)), c(2);
  const auto tiny = encode(CUDA_R_16F, {0x1p-10}), zero = encode(CUDA_R_16F, {0.0});
  ASSERT_CUBLAS(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 512, tiny.data(), a.as(),
                             CUDA_R_16F, 1, b.as(), CUDA_R_16F, 512, zero.data(), c.as(),
                             CUDA_R_16F, 1, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT));
  EXPECT_TRUE(std::isinf(decode(CUDA_R_16F, c.get())[0]));
  const float small = 0x1p-10F, none = 0;
  ASSERT_CUBLAS(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 512, &small, a.as(),
                             CUDA_R_16F, 1, b.as(), CUDA_R_16F, 512, &none, c.as(), CUDA_R_16F, 1,
                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(decode(CUDA_R_16F, c.get())[0], 500);
}

TEST_F(Gemm, MathModeDecidesBetweenFloatAndTf32) {
  // 1 + 2^-12 is a float, and 1 in TF32.
  const std::vector<double> a{1 + 0x1p-12}, one{1};
  DeviceBytes device_a(encode(CUDA_R_32F, a)), device_b(encode(CUDA_R_32F, one)), c(4);
  const float alpha = 1, beta = 0;
  const auto product = [&] {
    EXPECT_CUBLAS(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha,
                              device_a.as<float>(), 1, device_b.as<float>(), 1, &beta,
                              c.as<float>(), 1));
    return decode(CUDA_R_32F, c.get())[0];
  };
  EXPECT_EQ(product(), 1 + 0x1p-12);
  ASSERT_CUBLAS(cublasSetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH));
  EXPECT_EQ(product(), 1);
  ASSERT_CUBLAS(cublasSetMathMode(handle_, CUBLAS_PEDANTIC_MATH));
  EXPECT_EQ(product(), 1 + 0x1p-12);
}

/// The typed entry points, all on the same small problem: A = [1 2; 3 4], B = [5 6; 7 8].
template <typename T>
struct Typed {
  cudaDataType type;
  T alpha, beta;
  std::vector<double> a{1, 3, 2, 4}, b{5, 7, 6, 8}, expected{19, 43, 22, 50};
};

template <typename T, typename Plain, typename Plain64, typename Strided, typename Strided64,
          typename Batched, typename Batched64>
void check_typed(cublasHandle_t handle, const Typed<T>& data, Plain plain, Plain64 plain64,
                 Strided strided, Strided64 strided64, Batched batched, Batched64 batched64) {
  const auto twice = [](std::vector<double> values) {
    values.insert(values.end(), values.begin(), values.end());
    return values;
  };
  DeviceBytes a(encode(data.type, twice(data.a))), b(encode(data.type, twice(data.b)));
  DeviceBytes c(8 * sizeof(T));
  const auto reset = [&] { c.put(std::vector<uint8_t>(8 * sizeof(T))); };
  const auto first = [&] {
    auto values = decode(data.type, c.get());
    values.resize(4);
    return values;
  };
  const auto n = CUBLAS_OP_N;
  reset();
  EXPECT_CUBLAS(plain(handle, n, n, 2, 2, 2, &data.alpha, a.as<T>(), 2, b.as<T>(), 2, &data.beta,
                      c.as<T>(), 2));
  EXPECT_EQ(first(), data.expected);
  reset();
  EXPECT_CUBLAS(plain64(handle, n, n, 2, 2, 2, &data.alpha, a.as<T>(), 2, b.as<T>(), 2, &data.beta,
                        c.as<T>(), 2));
  EXPECT_EQ(first(), data.expected);
  reset();
  EXPECT_CUBLAS(strided(handle, n, n, 2, 2, 2, &data.alpha, a.as<T>(), 2, 4, b.as<T>(), 2, 4,
                        &data.beta, c.as<T>(), 2, 4, 2));
  EXPECT_EQ(decode(data.type, c.get()), twice(data.expected));
  reset();
  EXPECT_CUBLAS(strided64(handle, n, n, 2, 2, 2, &data.alpha, a.as<T>(), 2, 0, b.as<T>(), 2, 4,
                          &data.beta, c.as<T>(), 2, 4, 2));
  EXPECT_EQ(decode(data.type, c.get()), twice(data.expected));
  // Batches in swapped order, and the second A twice.
  const T* as[] = {a.as<T>() + 4, a.as<T>() + 4};
  const T* bs[] = {b.as<T>(), b.as<T>() + 4};
  T* cs[] = {c.as<T>() + 4, c.as<T>()};
  const auto pointer_bytes = [](const auto& array) {
    std::vector<uint8_t> bytes(sizeof array);
    std::memcpy(bytes.data(), array, sizeof array);
    return bytes;
  };
  DeviceBytes device_as(pointer_bytes(as)), device_bs(pointer_bytes(bs)),
      device_cs(pointer_bytes(cs));
  reset();
  EXPECT_CUBLAS(batched(handle, n, n, 2, 2, 2, &data.alpha, device_as.as<const T*>(), 2,
                        device_bs.as<const T*>(), 2, &data.beta, device_cs.as<T*>(), 2, 2));
  EXPECT_EQ(decode(data.type, c.get()), twice(data.expected));
  reset();
  EXPECT_CUBLAS(batched64(handle, n, n, 2, 2, 2, &data.alpha, device_as.as<const T*>(), 2,
                          device_bs.as<const T*>(), 2, &data.beta, device_cs.as<T*>(), 2, 2));
  EXPECT_EQ(decode(data.type, c.get()), twice(data.expected));
}

TEST_F(Gemm, TypedEntryPoints) {
  check_typed(handle_, Typed<float>{CUDA_R_32F, 1.0F, 0.0F}, cublasSgemm_v2, cublasSgemm_v2_64,
              cublasSgemmStridedBatched, cublasSgemmStridedBatched_64, cublasSgemmBatched,
              cublasSgemmBatched_64);
  check_typed(handle_, Typed<double>{CUDA_R_64F, 1.0, 0.0}, cublasDgemm_v2, cublasDgemm_v2_64,
              cublasDgemmStridedBatched, cublasDgemmStridedBatched_64, cublasDgemmBatched,
              cublasDgemmBatched_64);
  const __half one = __ushort_as_half(0x3c00), zero = __ushort_as_half(0);
  check_typed(handle_, Typed<__half>{CUDA_R_16F, one, zero}, cublasHgemm, cublasHgemm_64,
              cublasHgemmStridedBatched, cublasHgemmStridedBatched_64, cublasHgemmBatched,
              cublasHgemmBatched_64);
}

TEST_F(Gemm, ExEntryPointsWithBatches) {
  const cudaDataType type = CUDA_R_16BF;
  const std::vector<double> a{1, 3, 2, 4, 2, 0, 0, 2}, b{5, 7, 6, 8, 1, 2, 3, 4};
  const std::vector<double> expected{19, 43, 22, 50, 2, 4, 6, 8};
  DeviceBytes device_a(encode(type, a)), device_b(encode(type, b)), c(32);
  const float alpha = 1, beta = 0;
  ASSERT_CUBLAS(cublasGemmStridedBatchedEx(
      handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha, device_a.as(), type, 2, 4, device_b.as(),
      type, 2, 4, &beta, c.as(), CUDA_R_32F, 2, 4, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(decode(CUDA_R_32F, c.get()), expected);
  const std::vector<uint64_t> addresses{
      reinterpret_cast<uint64_t>(device_a.as(8)), reinterpret_cast<uint64_t>(device_a.as()),
      reinterpret_cast<uint64_t>(device_b.as(8)), reinterpret_cast<uint64_t>(device_b.as()),
      reinterpret_cast<uint64_t>(c.as(16)),       reinterpret_cast<uint64_t>(c.as())};
  DeviceBytes pointers(addresses.size() * 8);
  EXPECT_CUDA(
      cudaMemcpy(pointers.as(), addresses.data(), addresses.size() * 8, cudaMemcpyHostToDevice));
  c.put(std::vector<uint8_t>(32));
  ASSERT_CUBLAS(cublasGemmBatchedEx_64(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha,
                                       pointers.as<void*>(), type, 2, pointers.as<void*>(16), type,
                                       2, &beta, pointers.as<void*>(32), CUDA_R_32F, 2, 2,
                                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(decode(CUDA_R_32F, c.get()), expected);
  c.put(std::vector<uint8_t>(32));
  ASSERT_CUBLAS(cublasSgemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha, device_a.as(),
                              type, 2, device_b.as(), type, 2, &beta, c.as(), CUDA_R_32F, 2));
  EXPECT_EQ(decode(CUDA_R_32F, c.get())[1], 43);
}

TEST_F(Gemm, DeviceScalarsAreReadWhenTheGemmRuns) {
  cudaStream_t stream = nullptr;
  EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ASSERT_CUBLAS(cublasSetStream(handle_, stream));
  ASSERT_CUBLAS(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE));
  DeviceBytes a(encode(CUDA_R_32F, {3})), b(encode(CUDA_R_32F, {5})), c(encode(CUDA_R_32F, {7}));
  DeviceBytes scalars(encode(CUDA_R_32F, {0, 0}));
  const std::vector<float> first{2, 1}, second{10, 0};
  float results[2] = {};
  EXPECT_CUDA(cudaMemcpyAsync(scalars.as(), first.data(), 8, cudaMemcpyHostToDevice, stream));
  const auto multiply = [&] {
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, scalars.as<float>(),
                       a.as<float>(), 1, b.as<float>(), 1, scalars.as<float>(4), c.as<float>(), 1);
  };
  ASSERT_CUBLAS(multiply());
  EXPECT_CUDA(cudaMemcpyAsync(&results[0], c.as(), 4, cudaMemcpyDeviceToHost, stream));
  EXPECT_CUDA(cudaMemcpyAsync(scalars.as(), second.data(), 8, cudaMemcpyHostToDevice, stream));
  ASSERT_CUBLAS(multiply());
  EXPECT_CUDA(cudaMemcpyAsync(&results[1], c.as(), 4, cudaMemcpyDeviceToHost, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(results[0], 2 * 15 + 7);
  EXPECT_EQ(results[1], 150);
  ASSERT_CUBLAS(cublasSetStream(handle_, nullptr));
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace braid::cublas_test
