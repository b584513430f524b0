// Which kernel is chosen, and what that means for the bits of a result.
#include <cstring>

#include "cublas_support.hpp"
#include "vgpu/cublas/gemm/handle.hpp"
#include "vgpu/cublas/gemm/kernel_choice.hpp"

namespace braid::cublas_test {
namespace {

using vgpu::gemm::depth_range;
using vgpu::gemm::KernelChoice;
using vgpu::gemm::Problem;
using vgpu::gemm::rank_kernels;
using vgpu::gemm::Selection;

Problem problem_of(int64_t m, int64_t n, int64_t k, cudaDataType type = CUDA_R_16BF) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.a_type = problem.b_type = problem.c_type = type;
  return problem;
}

KernelChoice choice_of(const Problem& problem, int sms = 84, size_t workspace = 4 << 20) {
  Selection selection;
  selection.sm_count = sms;
  selection.max_workspace = workspace;
  return rank_kernels(problem, selection).front().kernel;
}

TEST(KernelChoice, DepthRangesCoverK) {
  for (const int64_t k : {0, 1, 31, 32, 33, 100, 1000, 4096, 4097}) {
    for (const int parts : {1, 2, 3, 5, 32}) {
      int64_t next = 0;
      for (int index = 0; index < parts; ++index) {
        const auto [begin, end] = depth_range(k, parts, index);
        EXPECT_EQ(begin, std::min(next, k));
        EXPECT_LE(begin, end);
        next = end;
      }
      EXPECT_EQ(next, k) << "k " << k << ", parts " << parts;
    }
  }
}

TEST(KernelChoice, FewTilesAndLongKSplit) {
  EXPECT_GT(choice_of(problem_of(64, 64, 8192)).split_k, 1);
  EXPECT_EQ(choice_of(problem_of(4096, 4096, 4096)).split_k, 1);
  EXPECT_EQ(choice_of(problem_of(64, 64, 128)).split_k, 1);
}

TEST(KernelChoice, LessWorkspaceMeansFewerSplits) {
  const Problem problem = problem_of(128, 128, 16384);
  const int with_much = choice_of(problem, 84, 32 << 20).split_k;
  const int with_little = choice_of(problem, 84, 2 * 128 * 128 * 4).split_k;
  EXPECT_GT(with_much, 2);
  EXPECT_LE(with_little, 2);
  EXPECT_EQ(choice_of(problem, 84, 0).split_k, 1);
}

TEST(KernelChoice, LimitsAreKept) {
  Selection selection;
  selection.sm_count = 84;
  selection.max_workspace = 4 << 20;
  selection.reduction_mask = CUBLASLT_REDUCTION_SCHEME_INPLACE;
  selection.max_waves = 0.5;
  const auto ranked = rank_kernels(problem_of(512, 512, 8192), selection);
  ASSERT_FALSE(ranked.empty());
  for (const auto& entry : ranked) {
    EXPECT_EQ(entry.kernel.split_k, 1);
    EXPECT_LE(entry.waves, 0.5);
  }
  selection.only_algorithm = 0;  // CUDA cores do not take bfloat16
  EXPECT_TRUE(rank_kernels(problem_of(512, 512, 512), selection).empty());
}

TEST(KernelChoice, HugeSizesDoNotOverflow) {
  const int64_t most = (int64_t{1} << 31) - 1;
  Problem problem = problem_of(most, most, most);
  problem.batch = most;
  EXPECT_EQ(choice_of(problem).split_k, 1);
}

/// Bits of C, for a GEMM over the given columns of B.
class Bits : public CublasTest {
 protected:
  static constexpr cudaDataType kType = CUDA_R_16BF;

  void prepare(int m, int n, int k) {
    m_ = m;
    k_ = k;
    a_ = encode(kType, random(kType, static_cast<size_t>(m) * k));
    b_ = encode(kType, random(kType, static_cast<size_t>(k) * n));
  }

  /// fp32 results of columns [first, first+count), from operands `shift` elements off alignment and
  /// with leading dimensions `pad` larger than needed.
  std::vector<uint8_t> multiply(int first, int count, int shift = 0, int pad = 0) {
    const size_t element = element_bytes(kType);
    const auto place = [&](const std::vector<uint8_t>& source, int rows, int columns, int skip) {
      std::vector<uint8_t> placed((static_cast<size_t>(rows + pad) * columns + shift) * element);
      for (int j = 0; j < columns; ++j) {
        std::memcpy(placed.data() + (shift + static_cast<size_t>(j) * (rows + pad)) * element,
                    source.data() + static_cast<size_t>(skip + j) * rows * element, rows * element);
      }
      return placed;
    };
    DeviceBytes a(place(a_, m_, k_, 0)), b(place(b_, k_, count, first));
    DeviceBytes c(static_cast<size_t>(m_) * count * 4);
    const float alpha = 1, beta = 0;
    EXPECT_CUBLAS(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m_, count, k_, &alpha,
                               a.as(shift * element), kType, m_ + pad, b.as(shift * element), kType,
                               k_ + pad, &beta, c.as(), CUDA_R_32F, m_, CUBLAS_COMPUTE_32F,
                               CUBLAS_GEMM_DEFAULT));
    return c.get();
  }

  KernelChoice choice(int n) {
    Problem problem = problem_of(m_, n, k_);
    problem.c_type = CUDA_R_32F;
    return choice_of(problem, vgpu::gemm::sm_count(0), vgpu::gemm::default_workspace_bytes(0));
  }

  int m_ = 0, k_ = 0;
  std::vector<uint8_t> a_, b_;
};

TEST_F(Bits, EqualCallsGiveEqualBitsWhereverTheOperandsLie) {
  for (const auto& [m, n, k] : {std::tuple{33, 17, 300}, {64, 64, 8192}, {600, 300, 257}}) {
    prepare(m, n, k);
    const auto first = multiply(0, n);
    EXPECT_EQ(first, multiply(0, n));
    EXPECT_EQ(first, multiply(0, n, 1, 3));
    EXPECT_EQ(first, multiply(0, n, 5, 1));
  }
}

TEST_F(Bits, CuttingTokensChangesBitsWhenTheKernelChanges) {
  prepare(64, 2048, 4096);
  const int part = 64;
  const KernelChoice whole = choice(2048), cut = choice(part);
  ASSERT_TRUE(whole.split_k != cut.split_k || whole.slices != cut.slices);
  auto expected = multiply(0, 2048);
  expected.resize(static_cast<size_t>(m_) * part * 4);
  const auto found = multiply(0, part);
  EXPECT_NE(expected, found);
  const auto left = decode(CUDA_R_32F, expected), right = decode(CUDA_R_32F, found);
  for (size_t i = 0; i < left.size(); ++i) {
    ASSERT_NEAR(left[i], right[i], 4096 * 0x1p-24 * 100);
  }
}

TEST_F(Bits, CuttingAtPanelsKeepsBitsWhenTheKernelStays) {
  prepare(640, 2048, 96);
  const KernelChoice whole = choice(2048), cut = choice(1024);
  ASSERT_EQ(whole.split_k, cut.split_k);
  ASSERT_EQ(whole.slices, cut.slices);
  const auto expected = multiply(0, 2048);
  auto found = multiply(0, 1024);
  const auto rest = multiply(1024, 1024);
  found.insert(found.end(), rest.begin(), rest.end());
  EXPECT_EQ(expected, found);
}

TEST_F(Bits, WorkspaceIsUsedAndDecidesAboutSplits) {
  prepare(64, 64, 8192);
  ASSERT_GT(choice(64).split_k, 1);
  const auto with_default = multiply(0, 64);
  DeviceBytes workspace(4 << 20);
  workspace.put(std::vector<uint8_t>(4 << 20));
  ASSERT_CUBLAS(cublasSetWorkspace(handle_, workspace.as(), 4 << 20));
  EXPECT_EQ(multiply(0, 64), with_default);
  EXPECT_NE(workspace.get(), std::vector<uint8_t>(4 << 20)) << "partial sums lie in it";
  ASSERT_CUBLAS(cublasSetWorkspace(handle_, workspace.as(), 256));
  EXPECT_NE(multiply(0, 64), with_default);
  ASSERT_CUBLAS(cublasSetStream(handle_, nullptr));  // back to the default pool
  EXPECT_EQ(multiply(0, 64), with_default);
}

TEST_F(Bits, SmCountTargetIsPartOfTheChoice) {
  prepare(64, 64, 8192);
  const auto with_all = multiply(0, 64);
  ASSERT_CUBLAS(cublasSetSmCountTarget(handle_, 1));
  EXPECT_NE(multiply(0, 64), with_all);
}

}  // namespace
}  // namespace braid::cublas_test
