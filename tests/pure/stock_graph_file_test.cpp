#include <gtest/gtest.h>

#include "model/stock/graph_file.hpp"
#include "model/stock_nccl.hpp"
#include "topology_test_support.hpp"

namespace braid::model::test {
namespace {

using stock::read_graph_text;
using Channels = std::vector<std::vector<int>>;

const std::vector<int> kFour = {0, 1, 2, 3};

std::string channel(const std::vector<const char*>& devs) {
  std::string text = "<channel>";
  for (const char* dev : devs) {
    text += std::string("<gpu dev=\"") + dev + "\"/>";
  }
  return text + "</channel>\n";
}

std::string graph(int id, int pattern, int n, const std::string& channels,
                  const std::string& type = "PHB") {
  return "<graph id=\"" + std::to_string(id) + "\" pattern=\"" + std::to_string(pattern) +
         "\" crossnic=\"0\" nchannels=\"" + std::to_string(n) +
         "\" speedintra=\"12\" speedinter=\"12\" latencyinter=\"0\" typeintra=\"" + type +
         "\" typeinter=\"PIX\" samechannels=\"0\">\n" + channels + "</graph>\n";
}

std::string file(const std::string& graphs) {
  return "<graphs version=\"1\">\n" + graphs + "</graphs>";
}

const std::string kForward = channel({"0", "0x1", "2", "3"});
const std::string kBackward = channel({"0", "3", "2", "1"});

TEST(GraphFile, IsFollowedExactly) {
  const auto graphs = read_graph_text(file(graph(0, 4, 2, kForward + kBackward)), "g.xml", kFour);
  ASSERT_TRUE(graphs) << graphs.error().text();
  ASSERT_EQ(graphs->size(), 1u);
  const auto& ring = graphs->at(0);
  EXPECT_EQ(ring.channels, (Channels{{0, 1, 2, 3}, {0, 3, 2, 1}}));
  EXPECT_EQ(ring.speed_intra_gbps, 12);
  EXPECT_EQ(ring.type_intra, PathType::kPhb);
  EXPECT_FALSE(ring.same_channels);
}

TEST(GraphFile, DevIsHexadecimalNvmlIndex) {
  const auto graphs =
      read_graph_text(file(graph(0, 4, 1, channel({"10", "0xA"}))), "g.xml", {10, 16});
  ASSERT_TRUE(graphs) << graphs.error().text();
  EXPECT_EQ(graphs->at(0).channels[0], (std::vector{1, 0}));
}

TEST(GraphFile, OnlyTheFirstChannelsCount) {
  const auto graphs = read_graph_text(file(graph(0, 4, 1, kForward + kBackward)), "g.xml", kFour);
  ASSERT_TRUE(graphs);
  EXPECT_EQ(graphs->at(0).channels.size(), 1u);
  const auto none = read_graph_text(file(graph(0, 4, 0, "")), "g.xml", kFour);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty()) << "NCCL then searches";
}

TEST(GraphFile, OtherGraphsArePassedOver) {
  const auto graphs =
      read_graph_text(file("<graph id=\"2\"/>" + graph(1, 1, 1, kForward)), "g.xml", kFour);
  ASSERT_TRUE(graphs) << graphs.error().text();
  EXPECT_EQ(graphs->count(2), 0u);
  EXPECT_EQ(graphs->at(1).pattern, 1);
}

struct BadGraph {
  const char* name;
  std::string text;
  const char* where;
  const char* what;
};

TEST(GraphFile, WhatNcclFailsOnIsAnErrorWithPlaceAndReason) {
  const BadGraph cases[] = {
      {"wrong root", "<system version=\"1\"/>", "g.xml:1", "<graphs version=\"1\">"},
      {"wrong version", "<graphs version=\"2\"/>", "g.xml:1", "version"},
      {"no attributes", file("<graph id=\"0\"/>"), "g.xml:2", "no attribute"},
      {"too few channels", file(graph(0, 4, 3, kForward)), "g.xml:2", "rank 0"},
      {"too many channels", file(graph(0, 4, 33, kForward)), "g.xml:2", "0 to 32"},
      {"unknown dev", file(graph(0, 4, 1, channel({"0", "1", "2", "7"}))), "g.xml:3",
       "XML Import Channel"},
      {"dev twice", file(graph(0, 4, 1, channel({"0", "1", "1", "2"}))), "g.xml:3", "twice"},
      {"short channel", file(graph(0, 4, 1, channel({"0", "1"}))), "g.xml:3", "2 of 4"},
      {"no dev", file(graph(0, 4, 1, "<channel><gpu/></channel>")), "g.xml:3", "'dev'"},
      {"dev no number", file(graph(0, 4, 1, channel({"zero"}))), "g.xml:3", "hexadecimal"},
      {"unknown type", file(graph(0, 4, 1, kForward, "FOO")), "g.xml:2", "FOO"},
      {"cut off", "<graphs version=\"1\">\n<graph", "g.xml:2", "cut off"},
  };
  for (const auto& bad : cases) {
    const auto graphs = read_graph_text(bad.text, "g.xml", kFour);
    ASSERT_FALSE(graphs) << bad.name;
    EXPECT_EQ(graphs.error().where, bad.where) << bad.name << ": " << graphs.error().text();
    EXPECT_NE(graphs.error().what.find(bad.what), std::string::npos)
        << bad.name << ": " << graphs.error().text();
  }
}

TEST(GraphFile, PlanUsesItAndFailsWithoutIt) {
  const ScratchFolder folder;
  const auto box = make_box({.sockets = 2});
  NcclSettings settings;
  settings.graph_file =
      folder.write("graph.xml", file(graph(0, 4, 2, kForward + kBackward, "SYS") +
                                     graph(1, 1, 2, kForward + kBackward, "SYS")));
  const auto plan = plan_stock(box, box.by_dev(), settings);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->ring_channels,
            (Channels{{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 1, 2, 3}, {0, 3, 2, 1}}));
  const auto row = static_cast<size_t>(config::Collective::kAllGather);
  EXPECT_DOUBLE_EQ(plan->bandwidth_gbps[row][kRing][kSimple], 32);

  const auto smaller = plan_stock(box, {0, 1}, settings);
  ASSERT_FALSE(smaller) << "a graph file that names absent GPUs fails the communicator";
  settings.graph_file = folder.path() + "/absent.xml";
  EXPECT_FALSE(plan_stock(box, box.by_dev(), settings));
}

// A ring graph with more channels than the tree gets is cut to the tree's (nccl_facts D.3).
TEST(GraphFile, WithoutATreeTheSearchFindsOneOfAsManyChannels) {
  const ScratchFolder folder;
  NcclSettings settings;
  settings.graph_file = folder.write("graph.xml", file(graph(0, 4, 2, kForward + kBackward)));
  const auto box = make_box({});
  const auto plan = plan_stock(box, box.by_dev(), settings);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->tree.channels.size(), 2u);
  EXPECT_EQ(plan->ring_channels.size(), 4u);
}

TEST(GraphFile, SharedGraphOfAPublicBox) {
  const auto data = shared_data();
  if (data.empty()) {
    GTEST_SKIP() << "no shared data";
  }
  const auto topology =
      read_topology_file((data / "topologies/real_azure_ncv4_4x_a100pcie.xml").string());
  ASSERT_TRUE(topology) << topology.error().text();
  NcclSettings settings;
  settings.graph_file = (data / "graphs/real_azure_ncv4_graph.xml").string();
  const auto plan = plan_stock(*topology, topology->by_dev(), settings);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->ring.channels, (Channels{{0, 1, 2, 3}, {0, 3, 2, 1}}));
  EXPECT_EQ(plan->tree.channels.size(), 4u);
  EXPECT_EQ(plan->ring_channels.size(), 4u) << "two of each, the fewer counts";
}

}  // namespace
}  // namespace braid::model::test
