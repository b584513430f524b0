// A program compiled by nvcc: its kernels register themselves and run by their mangled names.
#include <string>
#include <vector>

#include "cudart_registration_kernels.hpp"
#include "cudart_test_support.hpp"
#include "vgpu/core/kernel_registry.hpp"

namespace {

template <typename T>
void run_axpy(const braid_launch_shape*, void* const* arguments) {
  const T a = *static_cast<const T*>(arguments[0]);
  const T* x = *static_cast<const T* const*>(arguments[1]);
  T* y = *static_cast<T* const*>(arguments[2]);
  const int count = *static_cast<const int*>(arguments[3]);
  for (int i = 0; i < count; ++i) {
    y[i] += a * x[i];
  }
}

struct Pair {
  int first;
  double second;
};

void run_store_pair(const braid_launch_shape*, void* const* arguments) {
  const Pair pair = *static_cast<const Pair*>(arguments[0]);
  **static_cast<double* const*>(arguments[1]) = pair.first + pair.second;
}

constexpr size_t kFloatArguments[] = {sizeof(float), sizeof(float*), sizeof(float*), sizeof(int)};
constexpr size_t kPairArguments[] = {sizeof(Pair), sizeof(double*)};
// axpy<double> is left out: it has no host implementation.
constexpr braid_host_kernel kKernels[] = {
    {"_Z4axpyIfEvT_PKS0_PS0_i", 4, kFloatArguments, run_axpy<float>},
    {"_Z10store_pair4PairPd", 2, kPairArguments, run_store_pair}};
constexpr braid_host_kernel_table kTable = {BRAID_HOST_KERNEL_ABI, 2, kKernels};

class CudartRegistration : public braid::vgpu::testing::CudartTest {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(braid::vgpu::add_host_kernels(&kTable, "cudart_registration_test"));
  }
};

TEST_F(CudartRegistration, TemplatesAndStreams) {
  constexpr int kCount = 1000;
  std::vector<float> host(kCount, 2.0F);
  float* x = nullptr;
  float* y = nullptr;
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  ASSERT_CUDA(cudaMalloc(reinterpret_cast<void**>(&x), kCount * sizeof(float)));
  ASSERT_CUDA(cudaMalloc(reinterpret_cast<void**>(&y), kCount * sizeof(float)));
  ASSERT_CUDA(cudaMemcpyAsync(x, host.data(), kCount * sizeof(float), cudaMemcpyDefault, stream));
  ASSERT_CUDA(cudaMemsetAsync(y, 0, kCount * sizeof(float), stream));
  ASSERT_CUDA(launch_axpy(3.0F, x, y, kCount, stream));
  ASSERT_CUDA(launch_axpy(0.5F, x, y, kCount, stream));
  ASSERT_CUDA(cudaMemcpyAsync(host.data(), y, kCount * sizeof(float), cudaMemcpyDefault, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(host, std::vector<float>(kCount, 7.0F));
  EXPECT_CUDA(cudaFree(y));
  EXPECT_CUDA(cudaFree(x));
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(CudartRegistration, StructuresByValue) {
  double* out = nullptr;
  double host = 0;
  ASSERT_CUDA(cudaMalloc(reinterpret_cast<void**>(&out), sizeof(double)));
  ASSERT_CUDA(launch_store_pair(40, 2.5, out, nullptr));
  ASSERT_CUDA(cudaMemcpy(&host, out, sizeof(host), cudaMemcpyDeviceToHost));
  EXPECT_EQ(host, 42.5);
  EXPECT_CUDA(cudaFree(out));
}

TEST_F(CudartRegistration, InstancesWithoutImplementationFailAtTheLaunch) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(launch_axpy(1.0, nullptr, nullptr, 256, nullptr), cudaErrorNotSupported);
  const std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("axpyId"), std::string::npos) << message;
  EXPECT_NE(message.find("grid"), std::string::npos) << message;
}

}  // namespace
