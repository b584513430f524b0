#include "config/policy_writer.hpp"

#include <gtest/gtest.h>

#include "policy_random.hpp"

namespace braid::config {
namespace {

void expect_same(const Interval& a, const Interval& b) {
  const auto x = inclusive_bounds(a);
  const auto y = inclusive_bounds(b);
  ASSERT_TRUE(x && y);
  EXPECT_EQ(x->first, y->first);
  EXPECT_EQ(x->last, y->last);
}

void expect_same(const Policy& a, const Policy& b) {
  EXPECT_EQ(a.numerics, b.numerics);
  EXPECT_EQ(a.max_device_memory, b.max_device_memory);
  EXPECT_EQ(a.learn_steps, b.learn_steps);
  EXPECT_EQ(a.gpu, b.gpu);
  EXPECT_EQ(a.topology, b.topology);
  ASSERT_EQ(a.rules.size(), b.rules.size());
  for (size_t i = 0; i < a.rules.size(); ++i) {
    const Rule& x = a.rules[i];
    const Rule& y = b.rules[i];
    EXPECT_EQ(x.collective, y.collective);
    EXPECT_EQ(x.dtypes, y.dtypes);
    expect_same(x.bytes, y.bytes);
    expect_same(x.ranks, y.ranks);
    EXPECT_EQ(x.communicator, y.communicator);
    EXPECT_EQ(x.strategy, y.strategy);
    EXPECT_EQ(x.scheme, y.scheme);
    EXPECT_EQ(x.cut, y.cut);
    EXPECT_EQ(x.parts, y.parts);
  }
  ASSERT_EQ(a.tuner_rules.size(), b.tuner_rules.size());
  for (size_t i = 0; i < a.tuner_rules.size(); ++i) {
    const TunerRule& x = a.tuner_rules[i];
    const TunerRule& y = b.tuner_rules[i];
    EXPECT_EQ(x.collective, y.collective);
    expect_same(x.bytes, y.bytes);
    expect_same(x.ranks, y.ranks);
    expect_same(x.nodes, y.nodes);
    EXPECT_EQ(x.algorithm, y.algorithm);
    EXPECT_EQ(x.protocol, y.protocol);
    EXPECT_EQ(x.channels, y.channels);
  }
  ASSERT_EQ(a.plan.size(), b.plan.size());
  for (size_t i = 0; i < a.plan.size(); ++i) {
    const PlannedCollective& x = a.plan[i];
    const PlannedCollective& y = b.plan[i];
    EXPECT_EQ(x.collective, y.collective);
    EXPECT_EQ(x.dtype, y.dtype);
    EXPECT_EQ(x.op, y.op);
    EXPECT_EQ(x.ranks, y.ranks);
    EXPECT_EQ(x.count, y.count);
    EXPECT_EQ(x.boundaries, y.boundaries);
  }
}

TEST(PolicyWriter, WritesAReadableFile) {
  Policy policy;
  policy.gpu = "RTX A6000";
  Rule rule;
  rule.collective = Collective::kAllReduce;
  rule.dtypes = {"bf16"};
  rule.bytes = *parse_interval("[64MiB, 64MiB]");
  rule.strategy = Strategy::kDecompose;
  rule.parts = 6;
  policy.rules = {rule};
  TunerRule tuner;
  tuner.algorithm = Algorithm::kTree;
  policy.tuner_rules = {tuner};
  PlannedCollective planned;
  planned.dtype = "bf16";
  planned.ranks = 8;
  planned.count = 1000;
  planned.boundaries = {0, 600, 1000};
  policy.plan = {planned};
  EXPECT_EQ(
      write_policy_text(policy, {"Made by a test.\n\nTwo paragraphs.", {"8192 x 8192"}, {}, {}}),
      R"(# Made by a test.
#
# Two paragraphs.
schema = "braid-policy/1"
numerics = "reordered"
max_device_memory = "256MiB"
learn_steps = 64
gpu = "RTX A6000"

# 8192 x 8192
[[rule]]
collective = "allreduce"
dtype = "bf16"
bytes = "[64MiB, 64MiB]"
strategy = "decompose"
scheme = "stock"
cut = "equal"
parts = 6

[[tuner.rule]]
algorithm = "tree"
protocol = "auto"
channels = "auto"

[[plan]]
collective = "allreduce"
dtype = "bf16"
op = "sum"
ranks = 8
count = 1000
boundaries = [0, 600, 1000]
)");
}

TEST(PolicyWriter, WrongUtf8IsReplacedSoThatTheFileStaysValid) {
  for (const char* bytes : {"\xff", "\xc0\xaf", "\xe2\x28\xa1", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                            "\xe2\x82", "\x80", "\xf0\x9f\x98"}) {
    Policy policy;
    policy.gpu = std::string("x") + bytes + "y";
    const auto back = read_policy_text(write_policy_text(policy, {bytes, {}, {}, {}}), "w");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->gpu.front(), 'x');
    EXPECT_NE(back->gpu.find("\xef\xbf\xbd"), std::string::npos);
  }
}

TEST(PolicyWriter, WritesFilesInOneStep) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_policy_file(Policy{}, {}, folder.path_of("p.toml")));
  EXPECT_TRUE(read_policy_file(folder.path_of("p.toml")));
  EXPECT_FALSE(write_policy_file(Policy{}, {}, folder.path_of("no/p.toml")));
}

TEST(PolicyWriterProperty, WhatIsWrittenReadsBackTheSame) {
  std::mt19937_64 random(test::property_seed());
  for (int i = 0; i < 500; ++i) {
    const Policy policy = test::random_policy(random);
    PolicyComments comments{
        test::random_text(random), {}, {test::random_text(random)}, {test::random_text(random)}};
    for (size_t r = 0; r < policy.rules.size(); ++r) {
      comments.rules.push_back(test::random_text(random));
    }
    const std::string text = write_policy_text(policy, comments);
    const auto back = read_policy_text(text, "written");
    ASSERT_TRUE(back) << back.error().text() << "\n" << text;
    expect_same(policy, *back);
    EXPECT_EQ(write_policy_text(*back, comments), text);
    if (HasFailure()) {
      FAIL() << text;
    }
  }
}

}  // namespace
}  // namespace braid::config
