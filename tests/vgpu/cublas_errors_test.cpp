// Wrong arguments, memory that may not be touched, and functions that do not exist here.
#include <dlfcn.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cublas_support.hpp"

namespace braid::cublas_test {
namespace {

class Errors : public CublasTest {
 protected:
  cublasStatus_t gemm(int m, int n, int k, int lda, int ldb, int ldc,
                      cublasOperation_t transa = CUBLAS_OP_N,
                      cublasOperation_t transb = CUBLAS_OP_N) {
    return cublasSgemm(handle_, transa, transb, m, n, k, &one_, a_.as<float>(), lda, a_.as<float>(),
                       ldb, &one_, a_.as<float>(), ldc);
  }
  cublasStatus_t gemm_ex(cudaDataType a, cudaDataType b, cudaDataType c,
                         cublasComputeType_t compute, int algorithm = CUBLAS_GEMM_DEFAULT) {
    return cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one_, a_.as(), a, 4, a_.as(),
                        b, 4, &one_, a_.as(), c, 4, compute,
                        static_cast<cublasGemmAlgo_t>(algorithm));
  }

  DeviceBytes a_{1024};
  float one_ = 1;
};

TEST_F(Errors, Sizes) {
  EXPECT_CUBLAS(gemm(4, 4, 4, 4, 4, 4));
  EXPECT_EQ(gemm(-1, 4, 4, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(4, -1, 4, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(4, 4, -1, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(4, 4, 4, 3, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(4, 4, 4, 4, 3, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(4, 4, 4, 4, 4, 3), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(0, 0, 0, 0, 1, 1), CUBLAS_STATUS_INVALID_VALUE) << "lda is at least 1";
  // lda counts rows as stored: k of them when A is transposed.
  EXPECT_CUBLAS(gemm(4, 4, 2, 2, 4, 4, CUBLAS_OP_T, CUBLAS_OP_T));
  EXPECT_EQ(gemm(2, 4, 4, 2, 4, 4, CUBLAS_OP_T), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(4, 4, 4, 4, 4, 4, CUBLAS_OP_CONJG), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Errors, Pointers) {
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one_, a_.as<float>(), 4,
                        a_.as<float>(), 4, &one_, a_.as<float>(), 4),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, nullptr, a_.as<float>(), 4,
                        a_.as<float>(), 4, &one_, a_.as<float>(), 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one_, a_.as<float>(), 4,
                        a_.as<float>(), 4, &one_, nullptr, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasDestroy(nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  int mode = 0;
  EXPECT_EQ(cublasGetMathMode(handle_, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGetSmCountTarget(nullptr, &mode), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(Errors, Types) {
  EXPECT_EQ(gemm_ex(CUDA_R_16F, CUDA_R_16BF, CUDA_R_16F, CUBLAS_COMPUTE_32F),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemm_ex(CUDA_R_32F, CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemm_ex(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F_FAST_TF32),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemm_ex(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemm_ex(CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemm_ex(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, static_cast<cublasComputeType_t>(12)),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm_ex(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 55),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Errors, Settings) {
  EXPECT_EQ(cublasSetMathMode(handle_, static_cast<cublasMath_t>(7)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_CUBLAS(cublasSetMathMode(
      handle_, static_cast<cublasMath_t>(CUBLAS_TF32_TENSOR_OP_MATH |
                                         CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
  EXPECT_EQ(cublasSetPointerMode(handle_, static_cast<cublasPointerMode_t>(5)),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetSmCountTarget(handle_, 1000000), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetSmCountTarget(handle_, -1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetWorkspace(handle_, a_.as(8), 512), CUBLAS_STATUS_INVALID_VALUE);
  int version = 0, major = 0;
  EXPECT_CUBLAS(cublasGetVersion(handle_, &version));
  EXPECT_CUBLAS(cublasGetProperty(MAJOR_VERSION, &major));
  EXPECT_EQ(version, CUBLAS_VERSION);
  EXPECT_EQ(major, CUBLAS_VER_MAJOR);
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_NE(std::string(cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE)), "");
}

TEST_F(Errors, LoggerTellsWhy) {
  static std::string last;
  ASSERT_CUBLAS(cublasSetLoggerCallback([](const char* message) { last = message; }));
  ASSERT_CUBLAS(cublasLoggerConfigure(1, 0, 0, nullptr));
  EXPECT_EQ(gemm(4, 4, 4, 3, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_NE(last.find("cublasSgemm_v2"), std::string::npos) << last;
  EXPECT_NE(last.find("lda is 3"), std::string::npos) << last;
  ASSERT_CUBLAS(cublasLoggerConfigure(0, 0, 0, nullptr));
  ASSERT_CUBLAS(cublasSetLoggerCallback(nullptr));
  EXPECT_EQ(cublasLoggerConfigure(1, 0, 0, "/nonexistent-folder/log"), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Errors, DeadStreams) {
  cudaStream_t stream = nullptr;
  EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ASSERT_CUBLAS(cublasSetStream(handle_, stream));
  EXPECT_CUDA(cudaStreamDestroy(stream));
  EXPECT_EQ(gemm(4, 4, 4, 4, 4, 4), CUBLAS_STATUS_EXECUTION_FAILED);
  ASSERT_CUBLAS(cublasSetStream(handle_, nullptr));
}

// A fault leaves the device in error for good, so each runs in a process of its own.
class Faults : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  /// Exits with the error the device has after `call` ran.
  template <typename Call>
  [[noreturn]] static void exit_with_error(Call call) {
    cublasHandle_t handle = nullptr;
    cudaSetDevice(0);
    cublasCreate(&handle);
    float* const good = memory(256);
    const cublasStatus_t status = call(handle);
    const cudaError_t error = cudaDeviceSynchronize();
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    const cublasStatus_t later = gemm(handle, good, good, good);  // on a device in error
    const bool as_expected =
        status == CUBLAS_STATUS_SUCCESS && later == CUBLAS_STATUS_EXECUTION_FAILED;
    std::_Exit(as_expected ? static_cast<int>(error) % 256 : 255);
  }
  static constexpr int kIllegalAddress = cudaErrorIllegalAddress % 256;
  static constexpr int kMisaligned = cudaErrorMisalignedAddress % 256;

  static cublasStatus_t gemm(cublasHandle_t handle, const float* a, const float* b, float* c,
                             int n = 8) {
    const float alpha = 1, beta = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, a, n, b, n, &beta, c, n);
  }
  static float* memory(size_t bytes) {
    void* pointer = nullptr;
    cudaMalloc(&pointer, bytes);
    cudaMemset(pointer, 0, bytes);
    return static_cast<float*>(pointer);
  }
};

TEST_F(Faults, HostMemory) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                static float host[64];
                return gemm(handle, host, memory(256), memory(256));
              }),
              ::testing::ExitedWithCode(kIllegalAddress), "");
}

TEST_F(Faults, NullOperand) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                return gemm(handle, memory(256), nullptr, memory(256));
              }),
              ::testing::ExitedWithCode(kIllegalAddress), "");
}

TEST_F(Faults, PastTheEnd) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                return gemm(handle, memory(4096), memory(4096), memory(4096) + 1024 - 63);
              }),
              ::testing::ExitedWithCode(kIllegalAddress), "");
}

TEST_F(Faults, FreedResult) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                const float* const a = memory(256);  // before the block is free to be reused
                float* const c = memory(256);
                cudaFree(c);
                return gemm(handle, a, a, c);
              }),
              ::testing::ExitedWithCode(kIllegalAddress), "");
}

TEST_F(Faults, Misaligned) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                auto* const bytes = reinterpret_cast<char*>(memory(512)) + 2;
                return gemm(handle, reinterpret_cast<float*>(bytes), memory(256), memory(256));
              }),
              ::testing::ExitedWithCode(kMisaligned), "");
}

TEST_F(Faults, ScalarOnTheHostInDeviceMode) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
                return gemm(handle, memory(256), memory(256), memory(256));
              }),
              ::testing::ExitedWithCode(kIllegalAddress), "");
}

TEST_F(Faults, Workspace) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                static std::vector<char> host(5 << 20);
                char* const aligned =
                    host.data() + 256 - reinterpret_cast<uintptr_t>(host.data()) % 256;
                cublasSetWorkspace(handle, aligned, 4 << 20);
                const float alpha = 1, beta = 0;
                return cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 16, 16, 8192, &alpha,
                                   memory(16 * 8192 * 4), 8192, memory(16 * 8192 * 4), 8192, &beta,
                                   memory(1024), 16);
              }),
              ::testing::ExitedWithCode(kIllegalAddress), "");
}

TEST_F(Faults, BadPointerInABatch) {
  EXPECT_EXIT(exit_with_error([](cublasHandle_t handle) {
                float* const good = memory(256);
                float* const pointers[] = {good, nullptr};
                auto** const array = reinterpret_cast<float**>(memory(16));
                cudaMemcpy(array, pointers, 16, cudaMemcpyHostToDevice);
                const float alpha = 1, beta = 0;
                return cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &alpha, array,
                                          8, array, 8, &beta, array, 8, 2);
              }),
              ::testing::ExitedWithCode(kIllegalAddress), "");
}

/// Every function a header declares, by name.
std::set<std::string> declared_functions(const std::string& header) {
  std::ifstream file(header);
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  const std::regex declaration(R"(CUBLASWINAPI\s+(cublas\w+)\s*\()");
  std::set<std::string> names;
  for (std::sregex_iterator it(content.begin(), content.end(), declaration), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

void expect_all_exported(const std::string& header, const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(handle, nullptr) << dlerror();
  const auto names = declared_functions(std::string(BRAID_CUDA_INCLUDE_DIR "/") + header);
  EXPECT_GT(names.size(), 40U);
  for (const std::string& name : names) {
    EXPECT_NE(dlvsym(handle, name.c_str(), library), nullptr) << name << " in " << library;
  }
  dlclose(handle);
}

TEST(Exports, EveryDeclaredFunctionExists) {
  cublasLtGetVersion();  // keeps both libraries linked
  expect_all_exported("cublas_api.h", "libcublas.so.13");
  expect_all_exported("cublasLt.h", "libcublasLt.so.13");
}

TEST_F(Errors, MissingFunctionsNameThemselves) {
  ::testing::internal::CaptureStderr();
  const cuComplex one{1, 0};
  EXPECT_EQ(cublasCgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nullptr, 1, nullptr, 1,
                        &one, nullptr, 1),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasLtMatrixTransform(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr, nullptr),
            CUBLAS_STATUS_NOT_SUPPORTED);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cublasCgemm_v2"), std::string::npos) << said;
  EXPECT_NE(said.find("cublasLtMatrixTransform"), std::string::npos) << said;
}

}  // namespace
}  // namespace braid::cublas_test
