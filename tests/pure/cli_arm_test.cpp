// Arms of a comparison: how they are written, and what each mistake says.
#include <gtest/gtest.h>

#include "cli/compare/arm.hpp"
#include "cli_test_support.hpp"

namespace braid::cli {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

TEST(Arm, ReadsNameAndVariables) {
  const auto arm = parse_arm("wide:NCCL_MIN_NCHANNELS=8,NCCL_MAX_NCHANNELS=16");
  ASSERT_TRUE(arm) << arm.error().text();
  EXPECT_EQ(arm->name, "wide");
  EXPECT_EQ(arm->environment,
            (Settings{{"NCCL_MIN_NCHANNELS", "8"}, {"NCCL_MAX_NCHANNELS", "16"}}));
}

TEST(Arm, CommaInAValueStaysInTheValue) {
  const auto arm = parse_arm("both:NCCL_ALGO=Tree,Ring,NCCL_PROTO=LL");
  ASSERT_TRUE(arm) << arm.error().text();
  EXPECT_EQ(arm->environment, (Settings{{"NCCL_ALGO", "Tree,Ring"}, {"NCCL_PROTO", "LL"}}));
}

TEST(Arm, ValueMayBeEmptyOrHoldEqualsSigns) {
  const auto arm = parse_arm("a:X=,Y=b=c");
  ASSERT_TRUE(arm) << arm.error().text();
  EXPECT_EQ(arm->environment, (Settings{{"X", ""}, {"Y", "b=c"}}));
}

TEST(Arm, MistakesNameTheArmAndTheForm) {
  for (const char* text :
       {"noenv", "x:", "x:NCCL_ALGO", ":A=1", "../up:A=1", "stock:A=1", "braid:A=1", "a b:A=1"}) {
    const auto arm = parse_arm(text);
    ASSERT_FALSE(arm) << text;
    EXPECT_NE(arm.error().text().find(text), std::string::npos) << arm.error().text();
  }
}

TEST(Arm, ShippedArms) {
  EXPECT_EQ(shipped_arm("tree", true)->environment, (Settings{{"NCCL_ALGO", "allreduce:tree"}}));
  EXPECT_EQ(shipped_arm("p2p-sys", true)->environment, (Settings{{"NCCL_P2P_LEVEL", "SYS"}}));
  TemporaryFolder folder;
  const std::string graph = folder.write("graph.xml", "<graphs/>");
  EXPECT_EQ(shipped_arm("graph=" + graph, true)->environment,
            (Settings{{"NCCL_GRAPH_FILE", graph}}));
}

TEST(Arm, UnknownShippedArmSuggestsTheNearest) {
  const auto arm = shipped_arm("treee", true);
  ASSERT_FALSE(arm);
  EXPECT_NE(arm.error().text().find("tree"), std::string::npos);
  EXPECT_NE(arm.error().text().find("p2p-sys"), std::string::npos);
}

TEST(Arm, AnotherNcclNeedsRealGpus) {
  TemporaryFolder folder;
  const std::string library = folder.write("libnccl.so.2", "");
  EXPECT_FALSE(shipped_arm("nccl=" + library, true));
  EXPECT_TRUE(shipped_arm("nccl=" + library, false));
  EXPECT_FALSE(shipped_arm("nccl=/no/such/file", false));
  EXPECT_FALSE(shipped_arm("graph", false));
}

TEST(Arm, StockIsFirstAndBraidLast) {
  const auto arms = make_arms("tree,p2p-sys", {"mine:A=1"}, true);
  ASSERT_TRUE(arms) << arms.error().text();
  std::vector<std::string> names;
  for (const Arm& arm : *arms) {
    names.push_back(arm.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"stock", "tree", "p2p-sys", "mine", "braid"}));
  EXPECT_EQ(arms->front().kind, Arm::Kind::kStock);
  EXPECT_EQ(arms->back().kind, Arm::Kind::kBraid);
  EXPECT_EQ(make_arms("none", {}, true)->size(), 2u);
  EXPECT_FALSE(make_arms("tree", {"tree:A=1"}, true));
}

}  // namespace
}  // namespace braid::cli
