#include <gtest/gtest.h>

#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using trace::CollectiveFunction;

std::string error_of(const trace::Trace& trace, const Topology& box) {
  const auto result = simulate(trace, box, test::plain_gpu(), test::no_steps());
  EXPECT_FALSE(result.has_value());
  return result ? "" : result.error().text();
}

void expect_says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
  }
}

TEST(SimulatorError, MoreRanksThanGpus) {
  const auto trace =
      test::make_trace(4, [](trace::TraceBuilder& b, int) { b.gemm(b.stream(), 1, 1, 1); });
  expect_says(error_of(trace, test::make_box(2)), {"box.xml", "2 GPUs", "4 ranks"});
}

TEST(SimulatorError, WaitForAnEventThatWasNeverRecorded) {
  const auto trace =
      test::make_trace(1, [](trace::TraceBuilder& b, int) { b.wait_event(b.stream(), 7, 2); });
  expect_says(error_of(trace, test::make_box(1)), {"recording 2", "event 7", "never records"});
}

TEST(SimulatorError, RanksThatDisagree) {
  const auto trace = test::make_trace(2, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(5, rank, 2);
    b.collective(s, c, CollectiveFunction::kAllReduce, rank == 0 ? 10 : 20);
  });
  expect_says(error_of(trace, test::make_box(2)), {"call 0", "20", "10", "rank 1"});
}

TEST(SimulatorError, ARankThatMadeFewerCalls) {
  const auto trace = test::make_trace(2, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(5, rank, 2);
    for (int i = 0; i < 3 - rank; ++i) {
      b.collective(s, c, CollectiveFunction::kAllReduce, 10);
    }
  });
  expect_says(error_of(trace, test::make_box(2)), {"rank 1 made 2", "rank 0 made 3"});
}

TEST(SimulatorError, AMissingRank) {
  trace::TraceBuilder b(0, 2);
  b.device(0, test::gpu_bus(0));
  const uint32_t c = b.communicator(5, 0, 2);
  b.collective(b.stream(), c, CollectiveFunction::kAllReduce, 10).end();
  trace::Trace trace;
  trace.ranks.push_back(b.build());
  expect_says(error_of(trace, test::make_box(2)), {"2 ranks", "rank 1", "missing"});
}

TEST(SimulatorError, ADeadlockSaysWhoWaitsForWhat) {
  const auto trace = test::make_trace(2, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(5, rank, 2);
    if (rank == 1) {
      b.wait_value(s, 0xabc, 1);  // nobody writes it
    }
    b.collective(s, c, CollectiveFunction::kAllReduce, 10);
  });
  expect_says(error_of(trace, test::make_box(2)),
              {"cannot go on", "AllReduce number 0", "waits for ranks 1", "waits for value 1",
               "address 2748"});
}

TEST(SimulatorError, ASendWithoutReceive) {
  const auto trace = test::make_trace(2, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(5, rank, 2);
    if (rank == 0) {
      b.collective(s, c, CollectiveFunction::kSend, 10, trace::ElementType::kFp32, 1);
    }
  });
  expect_says(error_of(trace, test::make_box(2)), {"send from rank 0 to rank 1", "no partner"});
}

TEST(SimulatorError, CommunicatorsInOppositeOrderDeadlockWhenSmsRunOut) {
  // Each takes nearly all SMs of a small GPU; the ranks start them in opposite order.
  GpuModel gpu = test::plain_gpu();
  gpu.sm_count = 1;
  const auto trace = test::make_trace(2, [](trace::TraceBuilder& b, int rank) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    const uint32_t c1 = b.communicator(1, rank, 2), c2 = b.communicator(2, rank, 2);
    b.collective(s1, rank == 0 ? c1 : c2, CollectiveFunction::kAllReduce, 1 << 20);
    b.collective(s2, rank == 0 ? c2 : c1, CollectiveFunction::kAllReduce, 1 << 20);
  });
  const auto result = simulate(trace, test::make_box(2), gpu, test::no_steps());
  ASSERT_FALSE(result.has_value());
  expect_says(result.error().text(), {"cannot go on", "waits for ranks"});
}

TEST(SimulatorError, CallOnAnUnknownCommunicator) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    b.collective(b.stream(), 42, CollectiveFunction::kAllReduce, 10);
  });
  expect_says(error_of(trace, test::make_box(1)), {"communicator 42", "no Communicator record"});
}

TEST(SimulatorError, WrongQueueSetting) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    b.setting("CUDA_DEVICE_MAX_CONNECTIONS", "many").gemm(b.stream(), 1, 1, 1);
  });
  expect_says(error_of(trace, test::make_box(1)),
              {"CUDA_DEVICE_MAX_CONNECTIONS", "many", "1 to 32"});
}

TEST(SimulatorError, EmptyTrace) { EXPECT_FALSE(error_of({}, test::make_box(1)).empty()); }

TEST(SimulatorError, ACutTraceReplaysWhatHasPartners) {
  trace::Trace trace;
  for (int rank = 0; rank < 2; ++rank) {
    trace::TraceBuilder b(rank, 2);
    b.device(rank, test::gpu_bus(rank));
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(5, rank, 2);
    for (int i = 0; i < (rank == 0 ? 5 : 3); ++i) {
      b.collective(s, c, CollectiveFunction::kAllReduce, 1000).gemm(s, 512, 512, 512);
    }
    if (rank == 0) {
      b.end();
    }
    trace.ranks.push_back(b.build());
  }
  const SimulationResult result = test::run(trace, test::make_box(2));
  EXPECT_EQ(test::items(result, 0, "collective").size(), 3u);
  EXPECT_EQ(test::items(result, 1, "collective").size(), 3u);
  EXPECT_FALSE(result.warnings.empty());
}

}  // namespace
}  // namespace braid::model
