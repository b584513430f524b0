// Level 1 and 2, and copies between host and device.
#include "cublas_support.hpp"

namespace braid::cublas_test {
namespace {

class Vectors : public CublasTest {};

TEST_F(Vectors, AxpyAndScal) {
  DeviceBytes x(encode(CUDA_R_32F, {1, 9, 2, 9, 3})), y(encode(CUDA_R_32F, {10, 20, 30}));
  const float two = 2;
  ASSERT_CUBLAS(cublasSaxpy(handle_, 3, &two, x.as<float>(), 2, y.as<float>(), -1));
  EXPECT_EQ(decode(CUDA_R_32F, y.get()), (std::vector<double>{16, 24, 32}));
  ASSERT_CUBLAS(cublasSscal(handle_, 3, &two, x.as<float>(), 2));
  EXPECT_EQ(decode(CUDA_R_32F, x.get()), (std::vector<double>{2, 9, 4, 9, 6}));
  DeviceBytes h(encode(CUDA_R_16BF, {1, 2, 3}));
  ASSERT_CUBLAS(cublasScalEx(handle_, 3, &two, CUDA_R_32F, h.as(), CUDA_R_16BF, 1, CUDA_R_32F));
  EXPECT_EQ(decode(CUDA_R_16BF, h.get()), (std::vector<double>{2, 4, 6}));
}

TEST_F(Vectors, DotAndNorm) {
  const auto a = random(CUDA_R_64F, 3000), b = random(CUDA_R_64F, 3000);
  double dot = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    squares += a[i] * a[i];
  }
  DeviceBytes x(encode(CUDA_R_64F, a)), y(encode(CUDA_R_64F, b));
  double result = 0;
  ASSERT_CUBLAS(cublasDdot(handle_, 3000, x.as<double>(), 1, y.as<double>(), 1, &result));
  EXPECT_NEAR(result, dot, 1e-11);
  ASSERT_CUBLAS(cublasDnrm2(handle_, 3000, x.as<double>(), 1, &result));
  EXPECT_NEAR(result, std::sqrt(squares), 1e-11);
  // Squares of these overflow a float; the norm does not.
  DeviceBytes large(encode(CUDA_R_32F, {3e30, 4e30})), norm(4);
  ASSERT_CUBLAS(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE));
  ASSERT_CUBLAS(cublasSnrm2(handle_, 2, large.as<float>(), 1, norm.as<float>()));
  EXPECT_NEAR(decode(CUDA_R_32F, norm.get())[0] / 5e30, 1, 1e-6);
}

TEST_F(Vectors, DotOfHalvesSumsInFloat) {
  DeviceBytes x(encode(CUDA_R_16F, std::vector<double>(4096, 1))), result(2);
  uint16_t value = 0;
  ASSERT_CUBLAS(cublasDotEx(handle_, 4096, x.as(), CUDA_R_16F, 1, x.as(), CUDA_R_16F, 1, &value,
                            CUDA_R_16F, CUDA_R_32F));
  EXPECT_EQ(vgpu::gemm::float_from_half(value), 4096);
}

TEST_F(Vectors, EmptyVectors) {
  float result = 7;
  const float one = 1;
  ASSERT_CUBLAS(cublasSdot(handle_, 0, nullptr, 1, nullptr, 1, &result));
  EXPECT_EQ(result, 0);
  EXPECT_CUBLAS(cublasSaxpy(handle_, 0, &one, nullptr, 1, nullptr, 1));
  EXPECT_EQ(cublasSdot(handle_, 1, nullptr, 1, nullptr, 1, nullptr), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Vectors, Gemv) {
  // A = [1 2 3; 4 5 6], lda 3.
  DeviceBytes a(encode(CUDA_R_32F, {1, 4, 0, 2, 5, 0, 3, 6, 0}));
  DeviceBytes x(encode(CUDA_R_32F, {1, 2, 3})), y(encode(CUDA_R_32F, {100, 0, 200}));
  const float alpha = 2, beta = 1;
  ASSERT_CUBLAS(cublasSgemv(handle_, CUBLAS_OP_N, 2, 3, &alpha, a.as<float>(), 3, x.as<float>(), 1,
                            &beta, y.as<float>(), 2));
  EXPECT_EQ(decode(CUDA_R_32F, y.get()), (std::vector<double>{128, 0, 264}));
  const float zero = 0;
  DeviceBytes z(encode(CUDA_R_32F, {std::nan(""), std::nan(""), std::nan("")}));
  ASSERT_CUBLAS(cublasSgemv(handle_, CUBLAS_OP_T, 2, 3, &beta, a.as<float>(), 3, x.as<float>(), 1,
                            &zero, z.as<float>(), 1));
  EXPECT_EQ(decode(CUDA_R_32F, z.get()), (std::vector<double>{9, 12, 15}));
  EXPECT_EQ(cublasSgemv(handle_, CUBLAS_OP_N, 2, 3, &alpha, a.as<float>(), 1, x.as<float>(), 1,
                        &beta, y.as<float>(), 1),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Vectors, CopiesOfMatrices) {
  const std::vector<float> host{1, 2, 0, 3, 4, 0};  // 2x2, ld 3
  DeviceBytes device(2 * 4 * sizeof(float));
  device.put(std::vector<uint8_t>(32));
  ASSERT_CUBLAS(cublasSetMatrix(2, 2, sizeof(float), host.data(), 3, device.as(), 4));
  EXPECT_EQ(decode(CUDA_R_32F, device.get()), (std::vector<double>{1, 2, 0, 0, 3, 4, 0, 0}));
  std::vector<float> back(4);
  ASSERT_CUBLAS(cublasGetMatrix(2, 2, sizeof(float), device.as(), 4, back.data(), 2));
  EXPECT_EQ(back, (std::vector<float>{1, 2, 3, 4}));
  ASSERT_CUBLAS(cublasSetVector(2, sizeof(float), host.data(), 3, device.as(), 1));
  ASSERT_CUBLAS(cublasGetVectorAsync(2, sizeof(float), device.as(), 1, back.data(), 2, nullptr));
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(back, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(cublasSetMatrix(3, 2, sizeof(float), host.data(), 2, device.as(), 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetVector(2, 0, host.data(), 1, device.as(), 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetVector(1000000, 4, host.data(), 1, device.as(), 1),
            CUBLAS_STATUS_MAPPING_ERROR);
}

}  // namespace
}  // namespace braid::cublas_test
