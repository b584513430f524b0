#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/capacities.hpp"
#include "model/link_graph.hpp"
#include "topology_test_support.hpp"

namespace braid::model::test {
namespace {

using Kinds = std::vector<LinkKind>;

Kinds kinds_of(const LinkGraph& graph, int from, int to) {
  Kinds kinds;
  for (const int id : graph.route(from, to)) {
    kinds.push_back(graph.links[id].kind);
  }
  return kinds;
}

double widest_load(const LinkGraph& graph, const std::vector<double>& loads, LinkKind kind) {
  double most = 0;
  for (size_t id = 0; id < loads.size(); ++id) {
    if (graph.links[id].kind == kind) {
      most = std::max(most, loads[id]);
    }
  }
  return most;
}

TEST(Capacities, PcieByGenerationAndWidth) {
  const auto mbps = [](double gts, int width) {
    PciNode node;
    node.link_speed_gts = gts;
    node.link_width = width;
    return pcie_mbps(node);
  };
  EXPECT_EQ(mbps(8, 16), 12000);
  EXPECT_EQ(mbps(16, 16), 24000);
  EXPECT_EQ(mbps(32, 16), 48000);
  EXPECT_EQ(mbps(16, 8), 12000);
  EXPECT_EQ(mbps(0, 0), 12000);  // not known: PCIe 3 x16
}

TEST(Capacities, SocketsByCpu) {
  const auto mbps = [](const char* cpu) { return socket_mbps(make_box({.cpu = cpu}).cpus[0]); };
  EXPECT_EQ(mbps(kAmd), 16000);
  EXPECT_EQ(mbps(kIceLake), 10000);
  EXPECT_EQ(mbps(kSapphireRapids), 22000);
}

TEST(LinkGraph, RoutesOfBridgedPairsOverTwoSockets) {
  const auto graph = build_link_graph(make_box({.gpus = 8, .sockets = 2}));
  EXPECT_EQ(kinds_of(graph, 0, 1), Kinds{LinkKind::kNvlink});
  EXPECT_EQ(graph.routes[0][1].type, PathType::kNvl);
  EXPECT_EQ(graph.routes[0][1].mbps, 48000);
  EXPECT_EQ(kinds_of(graph, 1, 2), (Kinds{LinkKind::kPcie, LinkKind::kPcie}));
  EXPECT_EQ(graph.routes[1][2].type, PathType::kPhb);
  EXPECT_EQ(kinds_of(graph, 3, 4), (Kinds{LinkKind::kPcie, LinkKind::kSocket, LinkKind::kPcie}));
  EXPECT_EQ(graph.routes[3][4].type, PathType::kSys);
  EXPECT_EQ(graph.routes[3][4].mbps, 16000);
  EXPECT_TRUE(graph.route(5, 5).empty());
}

TEST(LinkGraph, RoutesThroughSwitches) {
  const auto one = build_link_graph(make_box({.gpus = 4, .gpus_per_switch = 4}));
  EXPECT_EQ(kinds_of(one, 1, 2), (Kinds{LinkKind::kPcie, LinkKind::kPcie}));
  EXPECT_EQ(one.routes[1][2].type, PathType::kPix);

  const auto two = build_link_graph(make_box({.gpus = 4, .gpus_per_switch = 2}));
  EXPECT_EQ(kinds_of(two, 1, 2), (Kinds{LinkKind::kPcie, LinkKind::kSwitchUplink,
                                        LinkKind::kSwitchUplink, LinkKind::kPcie}));
  EXPECT_EQ(two.routes[1][2].type, PathType::kPhb);

  const auto nvswitch = build_link_graph(make_box({.nvlinks = NvLinks::kSwitch}));
  EXPECT_EQ(kinds_of(nvswitch, 0, 3), (Kinds{LinkKind::kNvswitch, LinkKind::kNvswitch}));
}

TEST(LinkGraph, WithoutP2pEverythingGoesThroughTheHost) {
  const auto box = make_box({.gpus = 4});
  const auto graph = build_link_graph(box, PathType::kLoc);
  EXPECT_EQ(kinds_of(graph, 0, 1), (Kinds{LinkKind::kPcie, LinkKind::kPcie}));
}

TEST(LinkGraph, IntelRootComplexCostsMore) {
  EXPECT_EQ(build_link_graph(make_box({.cpu = kIceLake})).routes[1][2].pcie_overhead, 1.2);
  EXPECT_EQ(build_link_graph(make_box({.cpu = kAmd})).routes[1][2].pcie_overhead, 1.0);
  EXPECT_EQ(build_link_graph(make_box({.cpu = kIceLake})).routes[0][1].pcie_overhead, 1.0);
}

TEST(LinkGraph, BroadcomSwitchesOfTwoLevelsCountAsOne) {
  const auto text = [](const char* id) {
    return std::string("<system version=\"1\"><cpu numaid=\"0\">") +
           "<pci busid=\"0000:80:00.0\" " + id + "><pci busid=\"0000:81:00.0\" " + id +
           "><pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"80\"/></pci></pci>"
           "<pci busid=\"0000:82:00.0\" " +
           id +
           "><pci busid=\"0000:11:00.0\"><gpu dev=\"1\" "
           "sm=\"80\"/></pci></pci></pci></cpu></system>";
  };
  const auto pex = read_topology_text(
      text("class=\"0x060400\" vendor=\"0x1000\" device=\"0xc010\" subsystem_vendor=\"0x1000\" "
           "subsystem_device=\"0xa096\""),
      "pex.xml");
  ASSERT_TRUE(pex) << pex.error().text();
  EXPECT_EQ(build_link_graph(*pex).routes[0][1].type, PathType::kPix);
  const auto other = read_topology_text(text("class=\"0x060400\""), "other.xml");
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(build_link_graph(*other).routes[0][1].type, PathType::kPxb);
}

// nccl_facts J: load of the most used PCIe port, as hops of one channel per byte a member passes
// on; a ring AllReduce of S passes on 2(n-1)/n S.
TEST(LinkGraph, RingLoadsMatchTheCountedOnes) {
  for (const int n : {4, 8}) {
    const auto graph = build_link_graph(make_box({.gpus = n, .sockets = n / 4}));
    std::vector<int> forward;
    for (int g = 0; g < n; ++g) {
      forward.push_back(g);
    }
    const auto one = graph.loads_of_ring(forward);
    const double passed_on = 2.0 * (n - 1) / n;
    EXPECT_DOUBLE_EQ(passed_on * widest_load(graph, one, LinkKind::kPcie), n == 4 ? 1.5 : 1.75);

    std::vector<int> backward(forward.rbegin(), forward.rend());
    auto both = graph.loads_of_ring(backward);
    std::transform(both.begin(), both.end(), one.begin(), both.begin(),
                   [](double a, double b) { return (a + b) / 2; });
    EXPECT_DOUBLE_EQ(passed_on * widest_load(graph, both, LinkKind::kPcie), n == 4 ? 0.75 : 0.875);
    if (n == 8) {
      EXPECT_DOUBLE_EQ(passed_on * widest_load(graph, one, LinkKind::kSocket), 1.75);
    }
  }
}

TEST(LinkGraph, RandomBoxesAreConsistent) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  SCOPED_TRACE("BRAID_TEST_SEED=" + std::to_string(seed));
  for (int i = 0; i < 300; ++i) {
    const auto box = make_box(draw_box(random));
    const auto graph = build_link_graph(box);
    const int n = static_cast<int>(box.gpus.size());
    ASSERT_EQ(graph.gpu_nodes.size(), box.gpus.size());
    for (const auto& link : graph.links) {
      ASSERT_GT(link.capacity_gbps, 0);
    }
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b < n; ++b) {
        int at = graph.gpu_nodes[a];
        Mbps narrowest = kLocalMbps;
        for (const int id : graph.route(a, b)) {
          ASSERT_EQ(graph.links[id].from, at);
          at = graph.links[id].to;
          narrowest = std::min(narrowest, graph.links[id].mbps());
        }
        ASSERT_EQ(at, graph.gpu_nodes[b]);
        ASSERT_EQ(graph.routes[a][b].mbps, narrowest);
        ASSERT_EQ(graph.routes[a][b].type, graph.routes[b][a].type);
      }
    }
  }
}

}  // namespace
}  // namespace braid::model::test
