#include <gtest/gtest.h>

#include <algorithm>

#include "model/cost/communication.hpp"
#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using trace::CollectiveFunction;
using trace::ElementType;

struct Box {
  explicit Box(int n, bool bridges = true, const NcclSettings& settings = {})
      : topology(test::make_box(n, bridges)), model(topology) {
    for (int i = 0; i < n; ++i) {
      gpus.push_back(i);
    }
    plan = plan_stock(topology, gpus, settings).value();
  }
  CommunicationCost price(CollectiveFunction function, uint64_t count) const {
    return model.price(plan, gpus, {function, count, ElementType::kUint8, 0});
  }
  /// Bytes on the busiest link of a kind.
  double busiest(const CommunicationCost& cost, LinkKind kind) const {
    double most = 0;
    for (const LinkLoad& load : cost.loads) {
      if (model.graph().links[static_cast<size_t>(load.link)].kind == kind) {
        most = std::max(most, load.bytes);
      }
    }
    return most;
  }
  Topology topology;
  CommunicationModel model;
  std::vector<int> gpus;
  StockPlan plan;
};

constexpr uint64_t kMany = 256 << 20;

NcclSettings with_algorithm(const char* algo, const char* proto = "Simple") {
  NcclSettings settings;
  settings.algo = algo;
  settings.proto = proto;
  return settings;
}

TEST(CommunicationCost, OppositeRingsLoadEachPortByThreeQuarters) {
  // Two opposite rings on four bridged GPUs: 0.75 S on each PCIe port direction (nccl_facts J),
  // over the efficiency of host memory.
  const Box box(4, true, with_algorithm("Ring"));
  const CommunicationCost cost = box.price(CollectiveFunction::kAllReduce, kMany);
  EXPECT_EQ(cost.algorithm, "Ring/Simple");
  EXPECT_NEAR(box.busiest(cost, LinkKind::kPcie) / kMany, 0.75 / 0.85, 0.01);
}

TEST(CommunicationCost, AllGatherAndReduceScatterMoveHalfOfAllReduce) {
  const Box box(4, true, with_algorithm("Ring"));
  const double all_reduce =
      box.busiest(box.price(CollectiveFunction::kAllReduce, kMany), LinkKind::kPcie);
  for (const auto function : {CollectiveFunction::kAllGather, CollectiveFunction::kReduceScatter}) {
    const CommunicationCost cost = box.price(function, kMany / 4);  // the same full tensor
    EXPECT_NEAR(box.busiest(cost, LinkKind::kPcie) / all_reduce, 0.5, 0.01);
  }
}

TEST(CommunicationCost, LlDoublesTheBytesOnTheWire) {
  const Box simple(4, true, with_algorithm("Ring", "Simple")),
      ll(4, true, with_algorithm("Ring", "LL"));
  const CommunicationCost a = simple.price(CollectiveFunction::kAllReduce, kMany);
  const CommunicationCost b = ll.price(CollectiveFunction::kAllReduce, kMany);
  EXPECT_EQ(b.algorithm, "Ring/LL");
  EXPECT_NEAR(ll.busiest(b, LinkKind::kPcie) / simple.busiest(a, LinkKind::kPcie), 2.0, 0.01);
  EXPECT_LT(b.latency_us, a.latency_us);
}

TEST(CommunicationCost, ABridgedPairIsFasterThanPcie) {
  const Box bridged(2, true), plain(2, false);
  EXPECT_LT(bridged.model.alone_us(bridged.price(CollectiveFunction::kAllReduce, kMany)) * 1.3,
            plain.model.alone_us(plain.price(CollectiveFunction::kAllReduce, kMany)));
}

TEST(CommunicationCost, TimeNeverFallsWithSize) {
  const Box box(4);
  double last = 0;
  for (uint64_t bytes = 1 << 20; bytes <= 1u << 30; bytes *= 2) {
    const double time = box.model.alone_us(box.price(CollectiveFunction::kAllReduce, bytes));
    EXPECT_GT(time, last) << bytes;
    last = time;
  }
}

TEST(CommunicationCost, RootedCollectivesLeaveOneEdgeOut) {
  const Box box(4, true, with_algorithm("Ring"));
  for (const auto function : {CollectiveFunction::kBroadcast, CollectiveFunction::kReduce}) {
    const CommunicationCost cost = box.price(function, kMany);
    const double nvlink = box.busiest(cost, LinkKind::kNvlink);
    EXPECT_GT(nvlink, 0.4 * kMany);
    EXPECT_LT(nvlink, 1.1 * kMany);
  }
}

TEST(CommunicationCost, AllToAllGatherAndScatter) {
  const Box box(4);
  const CommunicationCost all = box.price(CollectiveFunction::kAllToAll, kMany / 4);
  // Each GPU sends to the two GPUs of the other pair over PCIe.
  EXPECT_NEAR(box.busiest(all, LinkKind::kPcie) / kMany, 0.5 / 0.85, 0.01);
  const CommunicationCost gather = box.price(CollectiveFunction::kGather, kMany / 4);
  EXPECT_NEAR(box.busiest(gather, LinkKind::kPcie) / kMany, 0.5 / 0.85, 0.01);
  EXPECT_FALSE(box.price(CollectiveFunction::kScatter, 1000).loads.empty());
}

TEST(CommunicationCost, CallBytesFollowNcclTests) {
  const auto bytes = [](CollectiveFunction function) {
    return call_bytes({function, 10, ElementType::kFp32, 0}, 8);
  };
  EXPECT_EQ(bytes(CollectiveFunction::kAllReduce), 40u);
  EXPECT_EQ(bytes(CollectiveFunction::kAllGather), 320u);
  EXPECT_EQ(bytes(CollectiveFunction::kReduceScatter), 320u);
  EXPECT_EQ(bytes(CollectiveFunction::kBroadcast), 40u);
}

TEST(CommunicationCost, HostAndPeerRates) {
  const Box box(4);
  EXPECT_NEAR(box.model.host_gbps(0), 24, 0.1);
  EXPECT_GT(box.model.best_peer_gbps(0), 40);
}

}  // namespace
}  // namespace braid::model
