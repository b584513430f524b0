// cuBLASLt's descriptors, algorithms and refusals.
#include "cublas_support.hpp"

namespace braid::cublas_test {
namespace {

class LtApi : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_CUDA(cudaSetDevice(0));
    ASSERT_CUBLAS(cublasLtCreate(&lt_));
    describe(CUDA_R_16BF, 128, 64, 256);
  }
  void TearDown() override {
    release();
    EXPECT_CUBLAS(cublasLtDestroy(lt_));
  }

  /// A: m×k, B: k×n, C and D: m×n, all of `type`, with preference.
  void describe(cudaDataType type, uint64_t m, uint64_t n, uint64_t k,
                cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    release();
    ASSERT_CUBLAS(cublasLtMatrixLayoutCreate(&a_, type, m, k, static_cast<int64_t>(m)));
    ASSERT_CUBLAS(cublasLtMatrixLayoutCreate(&b_, type, k, n, static_cast<int64_t>(k)));
    ASSERT_CUBLAS(cublasLtMatrixLayoutCreate(&d_, type, m, n, static_cast<int64_t>(m)));
    ASSERT_CUBLAS(cublasLtMatmulDescCreate(&operation_, compute, CUDA_R_32F));
    ASSERT_CUBLAS(cublasLtMatmulPreferenceCreate(&preference_));
  }
  void release() {
    if (a_ != nullptr) {
      cublasLtMatrixLayoutDestroy(a_);
      cublasLtMatrixLayoutDestroy(b_);
      cublasLtMatrixLayoutDestroy(d_);
      cublasLtMatmulDescDestroy(operation_);
      cublasLtMatmulPreferenceDestroy(preference_);
      a_ = nullptr;
    }
  }
  cublasStatus_t heuristic(int requested = 1) {
    count_ = -1;
    results_.resize(static_cast<size_t>(std::max(1, requested)));
    return cublasLtMatmulAlgoGetHeuristic(lt_, operation_, a_, b_, d_, d_, preference_, requested,
                                          results_.data(), &count_);
  }
  template <typename T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, T value) {
    return cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value);
  }
  template <typename T>
  cublasStatus_t set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                     T value) {
    return cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value);
  }

  cublasLtHandle_t lt_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> results_;
  int count_ = 0;
};

TEST_F(LtApi, AttributesCheckTheirSize) {
  const int64_t wide = 1;
  EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_TRANSA, wide), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int32_t{1}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_CUBLAS(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1}));
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(set(static_cast<cublasLtMatmulDescAttributes_t>(999), int32_t{1}),
            CUBLAS_STATUS_INVALID_VALUE);
  size_t written = 0;
  int32_t value = -1;
  EXPECT_CUBLAS(cublasLtMatmulDescGetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 0,
                                               &written));
  EXPECT_EQ(written, 4U);
  EXPECT_CUBLAS(
      cublasLtMatmulDescGetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &value, 4, nullptr));
  EXPECT_EQ(value, CUBLAS_OP_N);
  EXPECT_EQ(
      cublasLtMatmulDescGetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 0, nullptr),
      CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(
      cublasLtMatmulDescGetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &value, 2, nullptr),
      CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(LtApi, DescriptorsInMemoryOfTheCaller) {
  cublasLtMatrixLayoutOpaque_t layout;
  ASSERT_CUBLAS(cublasLtMatrixLayoutInit(&layout, CUDA_R_32F, 3, 4, 5));
  uint64_t columns = 0;
  EXPECT_CUBLAS(
      cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, 8, nullptr));
  EXPECT_EQ(columns, 4U);
  EXPECT_EQ(cublasLtMatrixLayoutInit_internal(&layout, 8, CUDA_R_32F, 3, 4, 5),
            CUBLAS_STATUS_ALLOC_FAILED);
}

TEST_F(LtApi, HeuristicRefusals) {
  EXPECT_CUBLAS(heuristic());
  EXPECT_EQ(count_, 1);
  EXPECT_EQ(heuristic(0), CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_CUBLAS(set(a_, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{100}));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_INVALID_VALUE);
  describe(CUDA_R_16BF, 128, 64, 256);
  ASSERT_CUBLAS(set(b_, CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t{255}));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_INVALID_VALUE);
  describe(CUDA_R_16BF, 128, 64, 256);
  ASSERT_CUBLAS(set(d_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2}));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_INVALID_VALUE);
  describe(CUDA_R_16BF, 128, 64, 256);
  ASSERT_CUBLAS(set(a_, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_COL32}));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_NOT_SUPPORTED);
  describe(CUDA_R_8F_E4M3, 128, 64, 256);
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_NOT_SUPPORTED);
  describe(CUDA_R_16BF, 128, 64, 256);
  ASSERT_CUBLAS(set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{3}));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_CUBLAS(set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_GELU_AUX}));
  ASSERT_CUBLAS(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{129}));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_INVALID_VALUE) << "129 is no multiple of 8";
  ASSERT_CUBLAS(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{136}));
  EXPECT_CUBLAS(heuristic());
  ASSERT_CUBLAS(set<const void*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, this));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(LtApi, MatmulNeedsItsPointers) {
  DeviceBytes memory(1 << 20);
  const float one = 1, zero = 0;
  const auto multiply = [&](const void* alpha, const void* a, const void* c, const float* beta,
                            void* d, void* workspace = nullptr) {
    return cublasLtMatmul(lt_, operation_, alpha, a, a_, memory.as(), b_, beta, c, d_, d, d_,
                          nullptr, workspace, 16, nullptr);
  };
  void* const m = memory.as();
  EXPECT_CUBLAS(multiply(&one, m, nullptr, &zero, m));
  EXPECT_EQ(multiply(nullptr, m, m, &zero, m), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(&one, nullptr, m, &zero, m), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(&one, m, nullptr, &one, m), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(&one, m, m, &zero, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(&one, m, m, &zero, m, memory.as(8)), CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_CUBLAS(set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS}));
  EXPECT_EQ(multiply(&one, m, m, &zero, m), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmul(nullptr, operation_, &one, m, a_, m, b_, &zero, m, d_, m, d_, nullptr,
                           nullptr, 0, nullptr),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_CUDA(cudaDeviceSynchronize());
}

TEST_F(LtApi, AlgorithmsAreConfigurable) {
  int ids[8] = {}, count = 0;
  ASSERT_CUBLAS(cublasLtMatmulAlgoGetIds(lt_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF,
                                         CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, 8, ids, &count));
  ASSERT_GE(count, 1);
  cublasLtMatmulAlgo_t algo;
  ASSERT_CUBLAS(cublasLtMatmulAlgoInit(lt_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF,
                                       CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, ids[0], &algo));
  EXPECT_EQ(cublasLtMatmulAlgoInit(lt_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF,
                                   CUDA_R_16BF, CUDA_R_16BF, 4711, &algo),
            CUBLAS_STATUS_INVALID_VALUE);
  uint32_t tiles[CUBLASLT_MATMUL_TILE_END] = {};
  size_t written = 0;
  ASSERT_CUBLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_TILE_IDS, tiles,
                                                  sizeof tiles, &written));
  ASSERT_GE(written, sizeof(uint32_t));
  cublasLtMatmulHeuristicResult_t result = {};
  for (size_t i = 0; i < written / sizeof(uint32_t); ++i) {
    ASSERT_CUBLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID,
                                                       &tiles[i], sizeof tiles[i]));
    EXPECT_CUBLAS(cublasLtMatmulAlgoCheck(lt_, operation_, a_, b_, d_, d_, &algo, &result));
    EXPECT_EQ(result.workspaceSize, 0U);
  }
  const int32_t splits = 4;
  ASSERT_CUBLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
                                                     &splits, sizeof splits));
  EXPECT_EQ(cublasLtMatmulAlgoCheck(lt_, operation_, a_, b_, d_, d_, &algo, &result),
            CUBLAS_STATUS_NOT_SUPPORTED)
      << "a split needs a reduction scheme";
  const uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  ASSERT_CUBLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                                     &scheme, sizeof scheme));
  EXPECT_CUBLAS(cublasLtMatmulAlgoCheck(lt_, operation_, a_, b_, d_, d_, &algo, &result));
  EXPECT_EQ(result.workspaceSize, 4U * 4 * 128 * 64);
  const int32_t id = 3;
  EXPECT_EQ(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id),
            CUBLAS_STATUS_INVALID_VALUE);
  describe(CUDA_R_32F, 128, 64, 256);
  EXPECT_EQ(cublasLtMatmulAlgoCheck(lt_, operation_, a_, b_, d_, d_, &algo, &result),
            CUBLAS_STATUS_INVALID_VALUE)
      << "initialised for bfloat16";
}

TEST_F(LtApi, SearchesCanBeLimited) {
  describe(CUDA_R_16BF, 64, 64, 8192);
  const uint64_t workspace = 16 << 20;
  ASSERT_CUBLAS(cublasLtMatmulPreferenceSetAttribute(
      preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
  ASSERT_CUBLAS(heuristic(100));
  EXPECT_GT(count_, 5);
  EXPECT_GT(results_[0].workspaceSize, 0U);
  const uint64_t none = 0;
  ASSERT_CUBLAS(cublasLtMatmulPreferenceSetAttribute(
      preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &none, sizeof none));
  ASSERT_CUBLAS(heuristic(100));
  for (int i = 0; i < count_; ++i) {
    EXPECT_EQ(results_[static_cast<size_t>(i)].workspaceSize, 0U);
  }
  const uint64_t no_tensor_cores = ~uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK};
  ASSERT_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_IMPL_MASK,
                                                     &no_tensor_cores, sizeof no_tensor_cores));
  EXPECT_EQ(heuristic(), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(count_, 0);
}

}  // namespace
}  // namespace braid::cublas_test
