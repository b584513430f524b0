// A braid built without one of its safeguards is found out by the programs that the safeguard
// protects. These tests show that the others can fail.
#include <gtest/gtest.h>

#include "tests/vgpu/preload_support.hpp"

namespace braid::test {
namespace {

struct Mutant {
  std::string library;
  std::vector<std::string> program;
};

std::ostream& operator<<(std::ostream& out, const Mutant& mutant) { return out << mutant.library; }

class MutantTest : public ::testing::TestWithParam<Mutant> {
 protected:
  // Under how many of the seeds the results differ from a plain run.
  static int count_differences(const std::string& library, int seeds) {
    const auto command = pair_program(GetParam().program);
    const Outcome stock = run(command, virtual_box());
    EXPECT_EQ(stock.status, 0) << stock.err;
    TemporaryFolder folder;
    const std::string policy = folder.write("policy.toml", split_policy(4));
    int differences = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      Variables variables = under_braid(policy, library);
      variables["BRAID_VGPU_SEED"] = std::to_string(seed);
      const Outcome outcome = run(command, variables);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      differences += outcome.out != stock.out ? 1 : 0;
    }
    return differences;
  }
};

TEST_P(MutantTest, IsFound) {
  const std::string library = std::string(BRAID_BINARY_DIR) + "/tests/mutants/libbraid-mutant-" +
                              GetParam().library + ".so";
  EXPECT_GT(count_differences(library, 12), 0);
  EXPECT_EQ(count_differences("", 12), 0) << "the sound library fails too";
}

INSTANTIATE_TEST_SUITE_P(
    All, MutantTest,
    ::testing::Values(Mutant{"rule3",
                             {"receive_overlaps_operand", "--ranks", "2", "--steps", "32"}},
                      Mutant{"prior", {"prior_work", "--ranks", "2", "--steps", "32"}},
                      Mutant{"join", {"normal", "--ranks", "2", "--steps", "32"}}));

}  // namespace
}  // namespace braid::test
