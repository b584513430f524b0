// Support for the cuBLAS tests: device arrays, random matrices, and a reference in double.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "vgpu/cublas/gemm/element.hpp"

namespace braid::cublas_test {

using vgpu::gemm::element_bytes;

/// Gives the process a box when the caller named none. Runs before the first CUDA call.
inline const bool kHasBox = [] {
  setenv("BRAID_VGPU_TOPOLOGY",
         BRAID_SOURCE_DIR "/config/topologies/a6000x4-bridged-amd-1socket.xml", 0);
  return true;
}();

#define ASSERT_CUBLAS(CALL) ASSERT_EQ(CALL, CUBLAS_STATUS_SUCCESS)
#define EXPECT_CUBLAS(CALL) EXPECT_EQ(CALL, CUBLAS_STATUS_SUCCESS)
#define EXPECT_CUDA(CALL) EXPECT_EQ(CALL, cudaSuccess)

/// Device memory of raw bytes.
class DeviceBytes {
 public:
  explicit DeviceBytes(size_t bytes) : bytes_(bytes) {
    EXPECT_CUDA(cudaMalloc(&pointer_, bytes == 0 ? 1 : bytes));
  }
  explicit DeviceBytes(const std::vector<uint8_t>& content) : DeviceBytes(content.size()) {
    put(content);
  }
  ~DeviceBytes() { cudaFree(pointer_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  void put(const std::vector<uint8_t>& content) {
    EXPECT_CUDA(cudaMemcpy(pointer_, content.data(), content.size(), cudaMemcpyHostToDevice));
    // A copy from pageable memory may return before the bytes have arrived.
    EXPECT_CUDA(cudaDeviceSynchronize());
  }
  std::vector<uint8_t> get() const {
    std::vector<uint8_t> content(bytes_);
    EXPECT_CUDA(cudaMemcpy(content.data(), pointer_, bytes_, cudaMemcpyDeviceToHost));
    return content;
  }
  template <typename T = void>
  T* as(size_t byte_offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(pointer_) + byte_offset);
  }

 private:
  void* pointer_ = nullptr;
  size_t bytes_;
};

/// Elements of `type` as stored bytes, rounded from doubles.
inline std::vector<uint8_t> encode(cudaDataType type, const std::vector<double>& values) {
  std::vector<uint8_t> bytes(values.size() * element_bytes(type));
  if (type == CUDA_R_8I) {
    for (size_t i = 0; i < values.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(static_cast<int8_t>(values[i]));
    }
    return bytes;
  }
  vgpu::gemm::store_strided(type, bytes.data(), 0, 1, static_cast<int64_t>(values.size()),
                            values.data());
  return bytes;
}

inline std::vector<double> decode(cudaDataType type, const std::vector<uint8_t>& bytes) {
  std::vector<double> values(bytes.size() / element_bytes(type));
  vgpu::gemm::load_strided(type, bytes.data(), 0, 1, static_cast<int64_t>(values.size()),
                           values.data());
  return values;
}

/// What `type` makes of the values.
inline std::vector<double> rounded(cudaDataType type, const std::vector<double>& values) {
  return decode(type, encode(type, values));
}

/// The seed of this run: BRAID_TEST_SEED, or fixed.
inline uint64_t test_seed() {
  const char* text = std::getenv("BRAID_TEST_SEED");
  return text == nullptr ? 20261130 : std::strtoull(text, nullptr, 10);
}

inline std::vector<double> random_values(cudaDataType type, size_t count, std::mt19937_64& random) {
  std::vector<double> values(count);
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> integer(-20, 20);
  for (double& value : values) {
    value = type == CUDA_R_8I || type == CUDA_R_32I ? integer(random) : real(random);
  }
  return rounded(type, values);
}

/// A stored matrix: column-major, or row-major.
struct MatrixRef {
  const std::vector<double>* values;
  int64_t ld;
  bool row_major = false;
  int64_t offset = 0;
  double at(int64_t row, int64_t column) const {
    const int64_t index = row_major ? row * ld + column : row + column * ld;
    return (*values)[static_cast<size_t>(offset + index)];
  }
};

/// op(A) * op(B) at (i, j), naively, and the sum of the terms' magnitudes.
struct Dot {
  double value = 0, magnitude = 0;
};
inline Dot dot_of(const MatrixRef& a, bool transa, const MatrixRef& b, bool transb, int64_t i,
                  int64_t j, int64_t k) {
  Dot dot;
  for (int64_t p = 0; p < k; ++p) {
    const double term = (transa ? a.at(p, i) : a.at(i, p)) * (transb ? b.at(j, p) : b.at(p, j));
    dot.value += term;
    dot.magnitude += std::fabs(term);
  }
  return dot;
}

/// Unit roundoff of a type's results.
inline double roundoff(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return 0x1p-11;
    case CUDA_R_16BF:
      return 0x1p-8;
    case CUDA_R_32F:
      return 0x1p-24;
    case CUDA_R_64F:
      return 0x1p-53;
    default:
      return 0;
  }
}

/// A handle, and the device idle before and after.
class CublasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_CUDA(cudaSetDevice(0));
    ASSERT_CUBLAS(cublasCreate(&handle_));
    RecordProperty("seed", std::to_string(test_seed()));
    random_.seed(test_seed());
  }
  void TearDown() override {
    if (HasFailure()) {
      std::printf("seed: BRAID_TEST_SEED=%llu\n", static_cast<unsigned long long>(test_seed()));
    }
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUBLAS(cublasDestroy(handle_));
  }

  std::vector<double> random(cudaDataType type, size_t count) {
    return random_values(type, count, random_);
  }

  cublasHandle_t handle_ = nullptr;
  std::mt19937_64 random_;
};

}  // namespace braid::cublas_test
