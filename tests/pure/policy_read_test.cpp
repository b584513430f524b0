#include <gtest/gtest.h>

#include <filesystem>

#include "config/digest.hpp"
#include "config/policy.hpp"
#include "config_test_support.hpp"

namespace braid::config {
namespace {

Policy must_read(const std::string& text) {
  auto policy = read_policy_text(text, "p.toml");
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().text());
  return policy ? *std::move(policy) : Policy{};
}

TEST(PolicyRead, TheSchemaAloneGivesTheDefaults) {
  const std::string text = "schema = \"braid-policy/1\"\n";
  const Policy policy = must_read(text);
  EXPECT_EQ(policy.path, "p.toml");
  EXPECT_EQ(policy.digest, digest_of(text));
  EXPECT_EQ(policy.numerics, Numerics::kReordered);
  EXPECT_EQ(policy.max_device_memory, 256ull << 20);
  EXPECT_EQ(policy.learn_steps, 64);
  EXPECT_TRUE(policy.gpu.empty() && policy.topology.empty());
  EXPECT_TRUE(policy.rules.empty() && policy.tuner_rules.empty());
}

TEST(PolicyRead, EveryKeyReachesItsField) {
  const Policy policy = must_read(R"toml(schema = "braid-policy/1"
numerics = "exact"
max_device_memory = "1GiB"
learn_steps = 0
gpu = "A40"
topology = "box.xml"

[[rule]]
collective = "reducescatter"
dtype = ["bf16", "fp32", "bf16"]
bytes = "(1MiB, 64MiB]"
ranks = "[2, 8)"
communicator = "tp"
strategy = "decompose"
scheme = "double_ring"
cut = "geometric"
parts = 64

[[rule]]
dtype = "fp16"
ranks = 4
strategy = "fused"
parts = "auto"

[[tuner.rule]]
collective = "allreduce"
bytes = "[0, 64KiB)"
ranks = 8
nodes = "[1, 2]"
algorithm = "tree"
protocol = "ll128"
channels = 4

[[plan]]
collective = "allreduce"
dtype = "bf16"
op = "avg"
ranks = 8
count = 1000
boundaries = [0, 600, 1000]
)toml");
  EXPECT_EQ(policy.numerics, Numerics::kExact);
  EXPECT_EQ(policy.max_device_memory, 1ull << 30);
  EXPECT_EQ(policy.learn_steps, 0);
  EXPECT_EQ(policy.gpu, "A40");
  EXPECT_EQ(policy.topology, "box.xml");
  ASSERT_EQ(policy.rules.size(), 2u);
  const Rule& first = policy.rules[0];
  EXPECT_EQ(first.collective, Collective::kReduceScatter);
  EXPECT_EQ(first.dtypes, (std::vector<std::string>{"bf16", "fp32"}));
  EXPECT_FALSE(first.bytes.contains(1 << 20));
  EXPECT_TRUE(first.bytes.contains(64 << 20));
  EXPECT_TRUE(first.ranks.contains(7) && !first.ranks.contains(8));
  EXPECT_EQ(first.communicator, "tp");
  EXPECT_EQ(first.strategy, Strategy::kDecompose);
  EXPECT_EQ(first.scheme, "double_ring");
  EXPECT_EQ(first.cut, Cut::kGeometric);
  EXPECT_EQ(first.parts, 64);
  EXPECT_EQ(first.line, 8);
  const Rule& second = policy.rules[1];
  EXPECT_EQ(second.collective, std::nullopt);
  EXPECT_EQ(second.dtypes, std::vector<std::string>{"fp16"});
  EXPECT_TRUE(second.ranks.contains(4) && !second.ranks.contains(3) && !second.ranks.contains(5));
  EXPECT_EQ(second.strategy, Strategy::kFused);
  EXPECT_EQ(second.parts, 0);
  EXPECT_EQ(second.line, 19);
  ASSERT_EQ(policy.tuner_rules.size(), 1u);
  const TunerRule& tuner = policy.tuner_rules[0];
  EXPECT_EQ(tuner.collective, Collective::kAllReduce);
  EXPECT_TRUE(tuner.bytes.contains(0) && !tuner.bytes.contains(65536));
  EXPECT_TRUE(tuner.nodes.contains(2) && !tuner.nodes.contains(3));
  EXPECT_EQ(tuner.algorithm, Algorithm::kTree);
  EXPECT_EQ(tuner.protocol, Protocol::kLl128);
  EXPECT_EQ(tuner.channels, 4);
  EXPECT_EQ(tuner.line, 25);
  ASSERT_EQ(policy.plan.size(), 1u);
  const PlannedCollective& planned = policy.plan[0];
  EXPECT_EQ(planned.collective, Collective::kAllReduce);
  EXPECT_EQ(planned.dtype, "bf16");
  EXPECT_EQ(planned.op, "avg");
  EXPECT_EQ(planned.ranks, 8u);
  EXPECT_EQ(planned.count, 1000u);
  EXPECT_EQ(planned.boundaries, (std::vector<uint64_t>{0, 600, 1000}));
  EXPECT_EQ(planned.line, 34);
}

TEST(PolicyRead, SizesMayBeNumbersAndListsMayBeInline) {
  const Policy policy = must_read(
      "schema = \"braid-policy/1\"\n"
      "max_device_memory = 1048576\n"
      "rule = [{strategy = \"serial\"}, {collective = \"reduce\", strategy = \"serial\"}]\n"
      "tuner.rule = [{channels = \"auto\"}]\n");
  EXPECT_EQ(policy.max_device_memory, 1u << 20);
  EXPECT_EQ(policy.rules.size(), 2u);
  EXPECT_EQ(policy.tuner_rules.size(), 1u);
}

TEST(PolicyRead, FilesAreReadWithTheirDigest) {
  const test::TemporaryFolder folder;
  const std::string text = "schema = \"braid-policy/1\"\nlearn_steps = 3\n";
  const std::string path = folder.write("p.toml", text);
  const auto policy = read_policy_file(path);
  ASSERT_TRUE(policy) << policy.error().text();
  EXPECT_EQ(policy->path, path);
  EXPECT_EQ(policy->learn_steps, 3);
  EXPECT_EQ(policy->digest, digest_of(text));
}

TEST(PolicyRead, FilesThatCannotBeOpenedNameThePath) {
  const test::TemporaryFolder folder;
  const auto absent = read_policy_file(folder.path_of("absent.toml"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().where, folder.path_of("absent.toml"));
  const auto large = read_policy_file(folder.write("large.toml", std::string((1 << 20) + 1, '\n')));
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().what.find("larger than the 1048576 bytes"), std::string::npos);
}

TEST(PolicyShipped, EveryFileReads) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(BRAID_SOURCE_DIR) + "/config/policies")) {
    const auto policy = read_policy_file(entry.path().string());
    EXPECT_TRUE(policy) << (policy ? "" : policy.error().text());
    ++files;
  }
  EXPECT_GE(files, 4);
}

TEST(PolicyShipped, TheFilesSayWhatTheirNamesPromise) {
  const std::string folder = std::string(BRAID_SOURCE_DIR) + "/config/policies/";
  const auto rule = [&](const char* file, Collective collective, uint64_t bytes) {
    const auto policy = read_policy_file(folder + file);
    EXPECT_TRUE(policy) << (policy ? "" : policy.error().text());
    const Rule* found = policy ? find_rule(*policy, collective, "bf16", bytes, 8, "") : nullptr;
    return found != nullptr ? *found : Rule{};
  };
  for (int c = 0; c < kCollectiveCount; ++c) {
    const Rule stock = rule("schemes.toml", static_cast<Collective>(c), 1 << 30);
    EXPECT_EQ(stock.strategy, Strategy::kSerial);
    EXPECT_EQ(stock.scheme, "stock");
  }
  EXPECT_EQ(rule("overlap.toml", Collective::kAllReduce, 64 << 20).strategy, Strategy::kDecompose);
  EXPECT_EQ(rule("overlap.toml", Collective::kAllReduce, 64 << 20).parts, 0);
  EXPECT_EQ(rule("overlap.toml", Collective::kAllReduce, 64 << 10).strategy, Strategy::kSerial);
  EXPECT_EQ(rule("overlap.toml", Collective::kAllGather, 64 << 20).strategy, Strategy::kSerial);
  EXPECT_EQ(read_policy_file(folder + "exact.toml")->numerics, Numerics::kExact);
}

}  // namespace
}  // namespace braid::config
