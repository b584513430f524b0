// Random programs: the replay ends, is the same every time, and keeps the rules of streams.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model/simulator/workload.hpp"
#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using trace::CollectiveFunction;

/// Ranks make the same collectives in the same order; all else differs from rank to rank.
trace::Trace random_trace(unsigned seed, int ranks) {
  return test::make_trace(ranks, [=](trace::TraceBuilder& b, int rank) {
    std::mt19937 shared(seed), own(seed * 31 + static_cast<unsigned>(rank));
    std::vector<uint32_t> streams{0};
    for (int i = 0; i < 4; ++i) {
      streams.push_back(b.stream(static_cast<int>(shared() % 3) - 1, shared() % 2 == 0));
    }
    const uint32_t world = b.communicator(1, rank, ranks);
    const uint32_t pair = b.communicator(static_cast<uint64_t>(2 + rank / 2), rank % 2, 2);
    uint32_t events = 0;
    for (int i = 0; i < 60; ++i) {
      for (unsigned k = own() % 3; k > 0; --k) {
        const uint32_t s = streams[own() % streams.size()];
        switch (own() % 6) {
          case 0:
            b.gemm(s, 256 + own() % 4096, 256 + own() % 4096, 64 + own() % 2048);
            break;
          case 1:
            b.kernel(s, "k" + std::to_string(own() % 3), 1 + own() % 500, 256, own() % 2 * 100000);
            break;
          case 2:
            b.copy(s, own() % 1000000, static_cast<trace::CopyKind>(own() % 5), own() % 4 != 0);
            break;
          case 3:
            b.record_event(s, ++events);
            break;
          case 4:
            if (events > 0) {
              b.wait_event(s, 1 + own() % events);
            }
            break;
          default:
            b.host_wait(static_cast<trace::HostWaitKind>(own() % 2 == 0 ? 0 : 2), s);
        }
      }
      // Collectives stand on one stream, so ranks meet in the same order.
      const auto function = static_cast<CollectiveFunction>(shared() % 6);
      b.collective(streams[1], shared() % 3 == 0 ? pair : world, function, 1 + shared() % 100000);
    }
  });
}

TEST(SimulatorRandom, EndsAndIsDeterministic) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Topology box = test::make_box(4);
  for (unsigned round = 0; round < 25; ++round) {
    const trace::Trace trace = random_trace(seed + round, 4);
    SimulationOptions options = test::no_steps();
    options.hardware_queues = 1 + static_cast<int>(round % 8);
    const auto first = simulate(trace, box, find_gpu_model("A6000").value(), options);
    ASSERT_TRUE(first.has_value()) << first.error().text();
    const auto second = simulate(trace, box, find_gpu_model("A6000").value(), options);
    ASSERT_EQ(first->timeline.size(), second->timeline.size());
    for (size_t i = 0; i < first->timeline.size(); ++i) {
      ASSERT_EQ(first->timeline[i].start_us, second->timeline[i].start_us);
      ASSERT_EQ(first->timeline[i].end_us, second->timeline[i].end_us);
    }
    std::map<std::pair<int, uint32_t>, double> stream_end;
    std::vector<TimelineItem> by_issue = first->timeline;
    std::stable_sort(by_issue.begin(), by_issue.end(),
                     [](const auto& a, const auto& b) { return a.record < b.record; });
    for (const TimelineItem& item : by_issue) {  // one stream, one thing at a time, in order
      ASSERT_GE(item.end_us, item.start_us);
      double& end = stream_end[{item.rank, item.stream}];
      ASSERT_GE(item.start_us, end - 1e-6) << item.name;
      end = item.end_us;
    }
  }
}

TEST(SimulatorRandom, CorruptedTracesEndInAnErrorOrAResult) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const Topology box = test::make_box(2);
  std::vector<std::string> good;
  for (int rank = 0; rank < 2; ++rank) {
    trace::TraceBuilder b(rank, 2);
    b.device(rank, test::gpu_bus(rank));
    const uint32_t s = b.stream(), side = b.stream(-1);
    const uint32_t c = b.communicator(5, rank, 2);
    for (uint32_t i = 1; i < 6; ++i) {
      b.gemm(s, 512, 512, 512).record_event(s, 1, i).wait_event(side, 1, i);
      b.collective(side, c, CollectiveFunction::kAllReduce, 1000).kernel(s, "k", 10, 64, 0);
      b.copy(s, 100, trace::CopyKind::kDeviceToHost, false).host_wait(trace::HostWaitKind::kDevice);
    }
    good.push_back(b.end().bytes());
  }
  for (int round = 0; round < 1500; ++round) {
    trace::Trace trace;
    for (const std::string& bytes : good) {
      std::string changed = bytes;
      for (unsigned k = random() % 3; k > 0; --k) {
        changed[random() % changed.size()] ^= static_cast<char>(1u << random() % 8);
      }
      auto rank = trace::parse_rank_trace(changed, "fuzzed");
      if (rank) {
        trace.ranks.push_back(std::move(*rank));
      }
    }
    const auto result = simulate(trace, box, test::plain_gpu(), SimulationOptions{});
    if (!result) {
      EXPECT_FALSE(result.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace braid::model
