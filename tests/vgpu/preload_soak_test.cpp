// A long run: memory, threads and descriptors must not grow. Labelled vgpu-slow.
#include <gtest/gtest.h>

#include <regex>

#include "tests/vgpu/preload_support.hpp"

namespace braid::test {
namespace {

struct Usage {
  int threads = 0, descriptors = 0, resident_kib = 0;
};

// "resources at STEP: threads T descriptors D resident R KiB", written by the pair program.
std::vector<Usage> usages_in(const std::string& out) {
  std::vector<Usage> usages;
  const std::regex line(R"(resources at \d+: threads (\d+) descriptors (\d+) resident (\d+) KiB)");
  for (std::sregex_iterator it(out.begin(), out.end(), line), end; it != end; ++it) {
    usages.push_back({std::stoi((*it)[1]), std::stoi((*it)[2]), std::stoi((*it)[3])});
  }
  return usages;
}

class SoakTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SoakTest, TwoThousandStepsGrowNothing) {
  TemporaryFolder folder;
  const Variables variables = under_braid(folder.write("policy.toml", split_policy(4)));
  const Outcome outcome = run(
      pair_program({GetParam(), "--ranks", "2", "--steps", "2000", "--resources"}), variables, 280);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<Usage> usages = usages_in(outcome.out);
  ASSERT_GE(usages.size(), 2u) << outcome.out;
  // The first reading is taken after 500 steps, when everything that is made once has been made.
  EXPECT_LE(usages.back().threads, usages.front().threads);
  EXPECT_LE(usages.back().descriptors, usages.front().descriptors);
  EXPECT_LE(usages.back().resident_kib, usages.front().resident_kib + 2048);
  EXPECT_GT(counts_in(outcome.err).split, 3000) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(All, SoakTest, ::testing::Values("normal", "shapes", "gemm_alone"));

}  // namespace
}  // namespace braid::test
