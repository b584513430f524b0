// cublasLtMatmul against a reference: orders, batches, epilogues and their gradients.
#include <memory>

#include "cublas_support.hpp"

namespace braid::cublas_test {
namespace {

/// A layout descriptor with its attributes.
struct LayoutHandle {
  LayoutHandle(cudaDataType type, int64_t rows, int64_t columns, int64_t ld, int32_t order = 0,
               int32_t batch = 1, int64_t stride = 0) {
    EXPECT_CUBLAS(cublasLtMatrixLayoutCreate(&handle, type, static_cast<uint64_t>(rows),
                                             static_cast<uint64_t>(columns), ld));
    set(CUBLASLT_MATRIX_LAYOUT_ORDER, order);
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~LayoutHandle() { cublasLtMatrixLayoutDestroy(handle); }
  LayoutHandle(const LayoutHandle&) = delete;
  LayoutHandle& operator=(const LayoutHandle&) = delete;
  template <typename T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, T value) {
    EXPECT_CUBLAS(cublasLtMatrixLayoutSetAttribute(handle, attribute, &value, sizeof value));
  }
  cublasLtMatrixLayout_t handle = nullptr;
};

struct OperationHandle {
  explicit OperationHandle(cublasComputeType_t compute = CUBLAS_COMPUTE_32F,
                           cudaDataType scale = CUDA_R_32F) {
    EXPECT_CUBLAS(cublasLtMatmulDescCreate(&handle, compute, scale));
  }
  ~OperationHandle() { cublasLtMatmulDescDestroy(handle); }
  OperationHandle(const OperationHandle&) = delete;
  OperationHandle& operator=(const OperationHandle&) = delete;
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    EXPECT_CUBLAS(cublasLtMatmulDescSetAttribute(handle, attribute, &value, sizeof value));
  }
  cublasLtMatmulDesc_t handle = nullptr;
};

class LtMatmul : public CublasTest {
 protected:
  void SetUp() override {
    CublasTest::SetUp();
    lt_ = reinterpret_cast<cublasLtHandle_t>(handle_);  // as frameworks do
  }
  cublasLtHandle_t lt_ = nullptr;
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  const double h = 1e-5;
  return (gelu(x + h) - gelu(x - h)) / (2 * h);
}

TEST_F(LtMatmul, RowAndColumnOrders) {
  const int64_t m = 7, n = 5, k = 9;
  const cudaDataType type = CUDA_R_32F;
  for (int orders = 0; orders < 16; ++orders) {
    const bool rows_a = orders & 1, rows_b = orders & 2, rows_c = orders & 4, rows_d = orders & 8;
    const auto ld = [](bool row_major, int64_t rows, int64_t columns) {
      return (row_major ? columns : rows) + 2;
    };
    const auto total = [](bool row_major, int64_t rows, int64_t columns, int64_t ld) {
      return static_cast<size_t>((row_major ? rows : columns) * ld);
    };
    // B is given transposed.
    const int64_t lda = ld(rows_a, m, k), ldb = ld(rows_b, n, k), ldc = ld(rows_c, m, n),
                  ldd = ld(rows_d, m, n);
    const auto a = random(type, total(rows_a, m, k, lda)),
               b = random(type, total(rows_b, n, k, ldb));
    const auto c = random(type, total(rows_c, m, n, ldc));
    DeviceBytes da(encode(type, a)), db(encode(type, b)), dc(encode(type, c));
    DeviceBytes dd(encode(type, std::vector<double>(total(rows_d, m, n, ldd), -7)));
    const LayoutHandle la(type, m, k, lda, rows_a), lb(type, n, k, ldb, rows_b),
        lc(type, m, n, ldc, rows_c), lout(type, m, n, ldd, rows_d);
    OperationHandle operation;
    operation.set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{CUBLAS_OP_T});
    const float alpha = 2, beta = -1;
    ASSERT_CUBLAS(cublasLtMatmul(lt_, operation.handle, &alpha, da.as(), la.handle, db.as(),
                                 lb.handle, &beta, dc.as(), lc.handle, dd.as(), lout.handle,
                                 nullptr, nullptr, 0, nullptr));
    const auto d = decode(type, dd.get());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const Dot dot = dot_of({&a, lda, rows_a}, false, {&b, ldb, rows_b}, true, i, j, k);
        const double expected = 2 * dot.value - MatrixRef{&c, ldc, rows_c}.at(i, j);
        ASSERT_NEAR((MatrixRef{&d, ldd, rows_d}.at(i, j)), expected, 1e-5) << "orders " << orders;
      }
    }
  }
}

/// One epilogue on a batch of two, checked element by element.
struct EpilogueCase {
  cublasLtEpilogue_t epilogue;
  cudaDataType type;
  const char* name;
};

class LtEpilogue : public LtMatmul, public ::testing::WithParamInterface<EpilogueCase> {};

TEST_P(LtEpilogue, MatchesReference) {
  const auto [epilogue, type, name] = GetParam();
  const int64_t m = 530, n = 21, k = 40, batch = 2;  // more rows than a panel has
  const bool has_bias = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  const bool relu = (epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
  const bool gelu_forward = (epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
  const bool relu_back = (epilogue & 8) != 0, gelu_back = (epilogue & 64) != 0;
  const bool has_aux = (epilogue & 128) != 0, sums_d = (epilogue & 16) != 0;
  const bool sums_a = epilogue == CUBLASLT_EPILOGUE_BGRADA;
  const bool sums_b = epilogue == CUBLASLT_EPILOGUE_BGRADB;
  const int64_t aux_ld = relu || relu_back ? 640 : 536;
  const int64_t bias_stride = 600;

  const auto a = random(type, m * k * batch), b = random(type, n * k * batch);
  const auto bias = random(type, bias_stride * batch);
  const auto aux_values = random(type, aux_ld * n * batch);
  std::vector<uint8_t> aux_bits(static_cast<size_t>(aux_ld / 8 * n * batch));
  for (auto& byte : aux_bits) {
    byte = static_cast<uint8_t>(random_());
  }
  DeviceBytes da(encode(type, a)), db(encode(type, b)), dbias(encode(type, bias));
  DeviceBytes daux(relu || relu_back ? aux_bits : encode(type, aux_values));
  DeviceBytes dd(static_cast<size_t>(m * n * batch) * element_bytes(type));
  const LayoutHandle la(type, m, k, m, 0, batch, m * k), lb(type, k, n, k, 0, batch, n * k),
      lout(type, m, n, m, 0, batch, m * n);
  OperationHandle operation;
  operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(epilogue));
  if (has_bias || sums_d || sums_a || sums_b) {
    operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, dbias.as());
    operation.set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, bias_stride);
    operation.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(type));
  }
  if (has_aux) {
    operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, daux.as());
    operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_ld);
    operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, aux_ld * n);
  }
  const float alpha = 0.5, beta = 0;
  ASSERT_CUBLAS(cublasLtMatmul(lt_, operation.handle, &alpha, da.as(), la.handle, db.as(),
                               lb.handle, &beta, nullptr, lout.handle, dd.as(), lout.handle,
                               nullptr, nullptr, 0, nullptr));
  const auto d = decode(type, dd.get()), bias_after = decode(type, dbias.get());
  const auto aux_after = daux.get();
  const auto gelu_inputs = decode(type, aux_after);
  const double unit = roundoff(type);
  for (int64_t p = 0; p < batch; ++p) {
    std::vector<double> row_sums(m), a_sums(m), b_sums(n);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) {
        const Dot dot =
            dot_of({&a, m, false, p * m * k}, false, {&b, k, false, p * n * k}, false, i, j, k);
        double value = 0.5 * dot.value;
        if (has_bias) {
          value += bias[static_cast<size_t>(p * bias_stride + i)];
        }
        const int64_t aux_index = (p * n + j) * aux_ld + i;
        const auto bit = [&](const std::vector<uint8_t>& bits) {
          return ((bits[static_cast<size_t>(aux_index / 8)] >> (aux_index % 8)) & 1) != 0;
        };
        const double slack = 1e-4 + std::fabs(value) * unit;
        if (has_aux && relu && std::fabs(value) > 1e-4) {
          ASSERT_EQ(bit(aux_after), value > 0) << "at " << i << ", " << j;
        }
        if (has_aux && gelu_forward) {
          ASSERT_NEAR(gelu_inputs[static_cast<size_t>(aux_index)], value, slack);
        }
        if (relu) {
          value = std::max(value, 0.0);
        } else if (gelu_forward) {
          value = gelu(value);
        } else if (relu_back) {
          value = bit(aux_bits) ? value : 0;
        } else if (gelu_back) {
          value *= gelu_slope(aux_values[static_cast<size_t>(aux_index)]);
        }
        row_sums[static_cast<size_t>(i)] += value;
        ASSERT_NEAR(d[static_cast<size_t>((p * n + j) * m + i)], value, slack)
            << name << " at " << i << ", " << j << ", batch " << p;
      }
    }
    for (int64_t q = 0; q < k; ++q) {
      for (int64_t i = 0; i < m; ++i) {
        a_sums[static_cast<size_t>(i)] += a[static_cast<size_t>(p * m * k + q * m + i)];
      }
      for (int64_t j = 0; j < n; ++j) {
        b_sums[static_cast<size_t>(j)] += b[static_cast<size_t>(p * n * k + j * k + q)];
      }
    }
    const std::vector<double>* sums =
        sums_d ? &row_sums : (sums_a ? &a_sums : (sums_b ? &b_sums : nullptr));
    for (size_t i = 0; sums != nullptr && i < sums->size(); ++i) {
      ASSERT_NEAR(bias_after[static_cast<size_t>(p * bias_stride) + i], (*sums)[i],
                  1e-3 + std::fabs((*sums)[i]) * unit)
          << "bias gradient " << i;
    }
  }
}

constexpr EpilogueCase kEpilogues[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, CUDA_R_32F, "default"},
    {CUBLASLT_EPILOGUE_BIAS, CUDA_R_16BF, "bias_bf16"},
    {CUBLASLT_EPILOGUE_BIAS, CUDA_R_16F, "bias_fp16"},
    {CUBLASLT_EPILOGUE_RELU, CUDA_R_32F, "relu"},
    {CUBLASLT_EPILOGUE_RELU_BIAS, CUDA_R_32F, "relu_bias"},
    {CUBLASLT_EPILOGUE_RELU_AUX, CUDA_R_16BF, "relu_aux"},
    {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUDA_R_32F, "relu_aux_bias"},
    {CUBLASLT_EPILOGUE_DRELU, CUDA_R_32F, "drelu"},
    {CUBLASLT_EPILOGUE_DRELU_BGRAD, CUDA_R_32F, "drelu_bgrad"},
    {CUBLASLT_EPILOGUE_GELU, CUDA_R_32F, "gelu"},
    {CUBLASLT_EPILOGUE_GELU_BIAS, CUDA_R_16BF, "gelu_bias"},
    {CUBLASLT_EPILOGUE_GELU_AUX, CUDA_R_32F, "gelu_aux"},
    {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUDA_R_32F, "gelu_aux_bias"},
    {CUBLASLT_EPILOGUE_DGELU, CUDA_R_32F, "dgelu"},
    {CUBLASLT_EPILOGUE_DGELU_BGRAD, CUDA_R_16F, "dgelu_bgrad"},
    {CUBLASLT_EPILOGUE_BGRADA, CUDA_R_32F, "bgrada"},
    {CUBLASLT_EPILOGUE_BGRADB, CUDA_R_32F, "bgradb"},
};

INSTANTIATE_TEST_SUITE_P(All, LtEpilogue, ::testing::ValuesIn(kEpilogues),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(LtMatmul, SplitKAlgorithmsAgreeWithOthers) {
  const int64_t m = 48, n = 32, k = 4096;
  const auto a = random(CUDA_R_32F, m * k), b = random(CUDA_R_32F, n * k);
  DeviceBytes da(encode(CUDA_R_32F, a)), db(encode(CUDA_R_32F, b)), dd(m * n * 4);
  DeviceBytes workspace(8 << 20);
  const LayoutHandle la(CUDA_R_32F, m, k, m), lb(CUDA_R_32F, k, n, k), lout(CUDA_R_32F, m, n, m);
  const OperationHandle operation;
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
  const uint64_t bytes = 8 << 20;
  ASSERT_CUBLAS(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
  std::vector<cublasLtMatmulHeuristicResult_t> results(64);
  int count = 0;
  ASSERT_CUBLAS(cublasLtMatmulAlgoGetHeuristic(lt_, operation.handle, la.handle, lb.handle,
                                               lout.handle, lout.handle, preference, 64,
                                               results.data(), &count));
  ASSERT_CUBLAS(cublasLtMatmulPreferenceDestroy(preference));
  ASSERT_GT(count, 4);
  EXPECT_GT(results[0].workspaceSize, 0U) << "few tiles and a long K split";
  const float alpha = 1, beta = 0;
  for (int i = 0; i < count; ++i) {
    EXPECT_LE(results[i].workspaceSize, bytes);
    EXPECT_GT(results[i].wavesCount, 0);
    ASSERT_CUBLAS(cublasLtMatmul(lt_, operation.handle, &alpha, da.as(), la.handle, db.as(),
                                 lb.handle, &beta, dd.as(), lout.handle, dd.as(), lout.handle,
                                 &results[i].algo, workspace.as(), results[i].workspaceSize,
                                 nullptr));
    const auto d = decode(CUDA_R_32F, dd.get());
    for (const int64_t index : {int64_t{0}, m * n / 2, m * n - 1}) {
      const Dot dot = dot_of({&a, m}, false, {&b, k}, false, index % m, index / m, k);
      ASSERT_NEAR(d[static_cast<size_t>(index)], dot.value, dot.magnitude * 0x1p-20);
    }
    if (results[i].workspaceSize > 0) {
      EXPECT_EQ(
          cublasLtMatmul(lt_, operation.handle, &alpha, da.as(), la.handle, db.as(), lb.handle,
                         &beta, dd.as(), lout.handle, dd.as(), lout.handle, &results[i].algo,
                         workspace.as(), results[i].workspaceSize - 1, nullptr),
          CUBLAS_STATUS_INVALID_VALUE);
    }
  }
}

TEST_F(LtMatmul, BatchesOfPointersAndDeviceScalars) {
  const cudaDataType type = CUDA_R_16F;
  DeviceBytes a(encode(type, {1, 3, 2, 4, 2, 0, 0, 2})), b(encode(type, {5, 7, 6, 8, 1, 2, 3, 4}));
  DeviceBytes d(16), scalars(encode(CUDA_R_32F, {2, 0}));
  const std::vector<const void*> addresses{a.as(8), a.as(), b.as(8), b.as(), d.as(8), d.as()};
  DeviceBytes pointers(addresses.size() * sizeof(void*));
  EXPECT_CUDA(cudaMemcpy(pointers.as(), addresses.data(), addresses.size() * sizeof(void*),
                         cudaMemcpyHostToDevice));
  LayoutHandle layout(type, 2, 2, 2, 0, 2);
  layout.set(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, uint32_t{CUBLASLT_BATCH_MODE_POINTER_ARRAY});
  OperationHandle operation;
  operation.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t{CUBLASLT_POINTER_MODE_DEVICE});
  ASSERT_CUBLAS(cublasLtMatmul(lt_, operation.handle, scalars.as(), pointers.as(), layout.handle,
                               pointers.as(16), layout.handle, scalars.as(4), pointers.as(32),
                               layout.handle, pointers.as(32), layout.handle, nullptr, nullptr, 0,
                               nullptr));
  EXPECT_EQ(decode(type, d.get()), (std::vector<double>{38, 86, 44, 100, 4, 8, 12, 16}));
}

}  // namespace
}  // namespace braid::cublas_test
