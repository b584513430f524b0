#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/cost/gemm.hpp"
#include "model/cost/kernel.hpp"
#include "model/gpu.hpp"

namespace braid::model {
namespace {

using trace::ElementType;

double time_of(const GpuModel& gpu, const GemmShape& shape, int sms = 0) {
  const GemmCost cost = gemm_cost(gpu, shape);
  return cost.compute.time_us(cost.compute.useful_sms(sms > 0 ? sms : gpu.sm_count));
}

TEST(GemmCost, LargeGemmReachesTheSustainedRate) {
  for (const GpuModel& gpu : gpu_models()) {
    const GemmShape shape{16384, 16384, 8192, 1, ElementType::kFp16, ElementType::kFp16};
    const double tflops = flops_of(shape) / time_of(gpu, shape) / 1e6;
    EXPECT_LE(tflops, gpu.fp16_tflops * gpu.sustained_fraction * 1.0001) << gpu.name;
    EXPECT_GE(tflops, gpu.fp16_tflops * gpu.sustained_fraction * 0.85) << gpu.name;
  }
}

TEST(GemmCost, SmallGemmsWaste) {
  const GpuModel gpu = find_gpu_model("A6000").value();
  const GemmShape shape{128, 128, 128, 1, ElementType::kBf16, ElementType::kBf16};
  const double tflops = flops_of(shape) / time_of(gpu, shape) / 1e6;
  EXPECT_LT(tflops, gpu.bf16_tflops * 0.05);
}

TEST(GemmCost, SkinnyGemmIsBoundByMemory) {
  const GpuModel gpu = find_gpu_model("A6000").value();
  const GemmShape shape{8, 8192, 8192, 1, ElementType::kBf16, ElementType::kBf16};
  EXPECT_GE(time_of(gpu, shape), 8192.0 * 8192 * 2 / (gpu.memory_gbps * 1e3));
}

TEST(GemmCost, SplitKFillsAnEmptyGpu) {
  const GpuModel gpu = find_gpu_model("A100-SXM").value();
  const GemmShape shape{128, 256, 65536, 1, ElementType::kBf16, ElementType::kBf16};
  EXPECT_GT(gemm_cost(gpu, shape).split_k, 1);
}

TEST(GemmCost, SmTargetLimits) {
  const GpuModel gpu = find_gpu_model("A6000").value();
  const GemmShape shape{8192, 8192, 2048, 1, ElementType::kBf16, ElementType::kBf16};
  const GemmCost limited = gemm_cost(gpu, shape, gpu.sm_count / 2);
  EXPECT_EQ(limited.compute.useful_sms(gpu.sm_count), gpu.sm_count / 2);
  EXPECT_GT(limited.compute.time_us(gpu.sm_count / 2), time_of(gpu, shape) * 1.7);
}

TEST(GemmCost, MoreWorkAndFewerSmsNeverGoFaster) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const GpuModel& gpu = gpu_models()[random() % gpu_models().size()];
    const GemmShape shape{1 + random() % 20000,
                          1 + random() % 20000,
                          1 + random() % 20000,
                          1,
                          static_cast<ElementType>(6 + random() % 4),
                          ElementType::kFp16};
    GemmShape longer = shape;
    longer.k *= 2;
    const double time = time_of(gpu, shape);
    ASSERT_GT(time, 0);
    ASSERT_GE(time_of(gpu, longer), time);
    const GemmCost cost = gemm_cost(gpu, shape);
    for (int sms = gpu.sm_count; sms > 1; sms /= 2) {
      ASSERT_GE(cost.compute.time_us(sms / 2), cost.compute.time_us(sms));
    }
  }
}

TEST(GemmCost, AbsurdShapesStayFinite) {
  const GpuModel gpu = find_gpu_model("A6000").value();
  const uint64_t huge = ~0ull;
  const GemmShape shape{huge, huge, huge, huge, ElementType::kBf16, ElementType::kBf16};
  EXPECT_TRUE(std::isfinite(time_of(gpu, shape)));
  EXPECT_GT(time_of(gpu, GemmShape{0, 0, 0, 0, ElementType::kBf16, ElementType::kBf16}), 0);
}

TEST(KernelCost, KnownBytesFollowTheRoofline) {
  const GpuModel gpu = find_gpu_model("A6000").value();
  trace::Kernel kernel{1, 0, {100000, 1, 1}, {256, 1, 1}, 1 << 30};
  const KernelCost cost = kernel_cost(gpu, kernel);
  EXPECT_FALSE(cost.guessed);
  const double us = cost.compute.time_us(gpu.sm_count);
  EXPECT_GT(us, (1 << 30) / (gpu.memory_gbps * 1e3));
  EXPECT_LT(us, 1.3 * (1 << 30) / (gpu.memory_gbps * 1e3));
}

TEST(KernelCost, UnknownBytesAreMarkedAsGuessed) {
  const GpuModel gpu = find_gpu_model("A6000").value();
  EXPECT_TRUE(kernel_cost(gpu, {1, 0, {1, 1, 1}, {32, 1, 1}, 0}).guessed);
}

TEST(CopyCost, LinksDecide) {
  const GpuModel gpu = find_gpu_model("A6000").value();
  const auto copy = [](trace::CopyKind kind) {
    return trace::Copy{240000000, static_cast<uint32_t>(kind), 1};
  };
  EXPECT_NEAR(copy_time_us(gpu, copy(trace::CopyKind::kHostToDevice), 24, 48), 10000, 10);
  EXPECT_NEAR(copy_time_us(gpu, copy(trace::CopyKind::kPeer), 24, 48), 5000, 10);
  EXPECT_LT(copy_time_us(gpu, copy(trace::CopyKind::kMemset), 24, 48), 1000);
}

}  // namespace
}  // namespace braid::model
