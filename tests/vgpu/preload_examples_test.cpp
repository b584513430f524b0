// The example programs, which know nothing of braid, under stock and under braid: bits where the
// numerics class promises bits, the datatype's bound elsewhere, and the same bits from run to run
// under --frozen.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/vgpu/preload_support.hpp"

namespace braid::test {
namespace {

struct Case {
  std::string dtype;
  int ranks;
  std::string stream;
  bool group;
  bool processes;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.dtype << '/' << c.ranks << '/' << c.stream << (c.group ? "/group" : "")
             << (c.processes ? "/processes" : "/threads");
}

std::string example(const std::string& name) {
  return std::string(BRAID_BINARY_DIR) + "/examples/" + name;
}

std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

struct MlpRun {
  std::string err;                          // of rank 0
  std::vector<std::vector<float>> results;  // by rank
};

// Forward and backward over two layers, enough steps to learn and to be rewritten.
MlpRun run_mlp(const Case& c, const Variables& variables) {
  TemporaryFolder folder;
  std::vector<std::string> command{example("tp_mlp"),
                                   "--hidden",
                                   "128",
                                   "--tokens",
                                   "128",
                                   "--layers",
                                   "2",
                                   "--steps",
                                   "10",
                                   "--dtype",
                                   c.dtype,
                                   "--dump",
                                   folder.path() + "/{rank}.bin",
                                   "--collective-stream",
                                   c.stream};
  if (c.group) {
    command.push_back("--group");
  }
  MlpRun result;
  if (c.processes) {
    Variables own = variables;
    own["MASTER_ADDR"] = "127.0.0.1";
    own["MASTER_PORT"] = std::to_string(20000 + getpid() % 20000);
    const auto outcomes = run_ranks(command, c.ranks, {own});
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.status, 0) << outcome.err;
    }
    result.err = outcomes[0].err;
  } else {
    command.insert(command.end(), {"--ranks", std::to_string(c.ranks)});
    const Outcome outcome = run(command, variables);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    result.err = outcome.err;
  }
  for (int rank = 0; rank < c.ranks; ++rank) {
    result.results.push_back(read_floats(folder.path() + "/" + std::to_string(rank) + ".bin"));
    EXPECT_FALSE(result.results.back().empty());
  }
  return result;
}

double relative_difference(const MlpRun& a, const MlpRun& b) {
  double largest = 0;
  double difference = 0;
  for (size_t rank = 0; rank < a.results.size(); ++rank) {
    if (a.results[rank].size() != b.results[rank].size()) {
      return INFINITY;
    }
    for (size_t i = 0; i < a.results[rank].size(); ++i) {
      largest = std::max<double>(largest, std::fabs(a.results[rank][i]));
      difference = std::max<double>(difference, std::fabs(a.results[rank][i] - b.results[rank][i]));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

class ExampleTest : public ::testing::TestWithParam<Case> {
 protected:
  Variables braid(const std::string& numerics) const {
    return under_braid(folder_.write(numerics + ".toml", split_policy(4, numerics)));
  }
  TemporaryFolder folder_;
};

TEST_P(ExampleTest, ReorderedStaysWithinTheBound) {
  const MlpRun stock = run_mlp(GetParam(), virtual_box());
  const MlpRun rewritten = run_mlp(GetParam(), braid("reordered"));
  EXPECT_GT(counts_in(rewritten.err).early, 0) << rewritten.err;
  // Ten steps of training carry a change of the last bit on; the bounds are a few hundred units in
  // the last place of each type.
  const double bound = GetParam().dtype == "fp32" ? 1e-4 : 5e-2;
  EXPECT_LE(relative_difference(stock, rewritten), bound);
}

TEST_P(ExampleTest, ExactKeepsEveryBit) {
  const MlpRun stock = run_mlp(GetParam(), virtual_box());
  const MlpRun exact = run_mlp(GetParam(), braid("exact"));
  EXPECT_EQ(stock.results, exact.results);
  if (GetParam().ranks == 2) {
    EXPECT_GT(counts_in(exact.err).split, 0) << exact.err;
  } else {
    EXPECT_EQ(counts_in(exact.err).split, 0) << exact.err;
    EXPECT_GT(refusals_in(exact.err, "numerics"), 0) << exact.err;
  }
}

INSTANTIATE_TEST_SUITE_P(
    TensorParallel, ExampleTest,
    ::testing::Values(Case{"fp32", 2, "own", false, false}, Case{"bf16", 2, "compute", true, false},
                      Case{"fp32", 4, "compute", false, true}, Case{"bf16", 4, "own", true, false},
                      Case{"fp32", 8, "own", true, false}, Case{"bf16", 8, "compute", false, false},
                      Case{"bf16", 2, "own", false, true}));

TEST(Frozen, RepeatsItsBitsFromRunToRun) {
  TemporaryFolder folder;
  const Case c{"bf16", 4, "own", false, false};
  Variables learning = under_braid(folder.write("policy.toml", split_policy(4)));
  learning["BRAID_PLAN_OUT"] = folder.path() + "/plan.toml";
  run_mlp(c, learning);
  ASSERT_TRUE(std::filesystem::exists(folder.path() + "/plan.toml"));
  Variables frozen = under_braid(folder.path() + "/plan.toml");
  frozen["BRAID_FROZEN"] = "1";
  const MlpRun first = run_mlp(c, frozen);
  EXPECT_GT(counts_in(first.err).split, 0) << first.err;
  for (const char* seed : {"0", "5", "9"}) {
    frozen["BRAID_VGPU_SEED"] = seed;
    EXPECT_EQ(run_mlp(c, frozen).results, first.results) << "seed " << seed;
  }
}

TEST(Examples, KnowNothingOfBraid) {
  for (const char* name : {"tp_mlp", "dp_mlp", "moe_a2a"}) {
    const Outcome symbols = run({"nm", "-D", example(name)});
    const Outcome libraries = run({"ldd", example(name)}, virtual_box());
    ASSERT_EQ(symbols.status, 0) << symbols.err;
    EXPECT_EQ(symbols.out.find("braid"), std::string::npos);
    // The stand-ins lie in the build folder; what counts is that no library of braid's own is
    // needed.
    EXPECT_EQ(libraries.out.find("libbraid.so"), std::string::npos);
    const Outcome needed = run({"readelf", "-d", example(name)});
    EXPECT_EQ(needed.out.find("braid"), std::string::npos) << needed.out;
  }
}

}  // namespace
}  // namespace braid::test
