// Host threads, events, the default stream, copies, groups and stream values.
#include <gtest/gtest.h>

#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using test::items;
using test::length;
using trace::CollectiveFunction;
using trace::CopyKind;
using trace::HostWaitKind;

TEST(SimulatorHost, LaunchesCostHostTime) {
  GpuModel gpu = test::plain_gpu();
  gpu.launch_us = 100;
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    b.kernel(s1, "a", 1, 32, 64).kernel(s2, "b", 1, 32, 64).kernel(s1, "c", 1, 32, 64);
  });
  const auto kernels = items(test::run(trace, test::make_box(1), gpu), 0, "kernel");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_NEAR(kernels[0].start_us, 100, 1e-6);
  EXPECT_NEAR(kernels[1].start_us, 200, 1e-6);
  EXPECT_NEAR(kernels[2].start_us, 300, 1e-6);
}

TEST(SimulatorHost, AHostWaitHoldsBackTheNextLaunch) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    b.gemm(s1, 8192, 8192, 1024).record_event(s1, 1);
    b.host_wait(HostWaitKind::kEvent, trace::kNoStream, 1, 1);
    b.kernel(s2, "after", 1, 32, 64);
  });
  const SimulationResult result = test::run(trace, test::make_box(1));
  EXPECT_GE(items(result, 0, "kernel")[0].start_us, items(result, 0, "gemm")[0].end_us);
}

TEST(SimulatorHost, StreamAndDeviceWaits) {
  for (const HostWaitKind kind : {HostWaitKind::kStream, HostWaitKind::kDevice}) {
    const auto trace = test::make_trace(1, [kind](trace::TraceBuilder& b, int) {
      const uint32_t slow = b.stream(), quick = b.stream(), next = b.stream();
      b.kernel(slow, "slow", 10, 1024, 1 << 28).kernel(quick, "quick", 1, 32, 64);
      b.host_wait(kind, quick);
      b.kernel(next, "next", 1, 32, 64);
    });
    const auto kernels = items(test::run(trace, test::make_box(1)), 0, "kernel");
    ASSERT_EQ(kernels.size(), 3u);
    const double next_start = kernels[2].start_us;
    if (kind == HostWaitKind::kStream) {
      EXPECT_EQ(kernels[2].name, "next");
      EXPECT_GE(next_start, kernels[1].end_us);
      EXPECT_LT(next_start, kernels[0].end_us);
    } else {
      EXPECT_GE(next_start, kernels[0].end_us);
    }
  }
}

TEST(SimulatorHost, ThreadsOfOneDeviceKeepTheTracesOrder) {
  // Thread 2 issues after thread 1 in the file (as autograd's does) and must not run ahead of it.
  GpuModel gpu = test::plain_gpu();
  gpu.launch_us = 10;
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t s = b.stream();
    b.on_thread(1);
    for (int i = 0; i < 5; ++i) {
      b.kernel(s, "forward", 1, 32, 64);
    }
    b.on_thread(2).kernel(s, "backward", 1, 32, 64);
  });
  const auto kernels = items(test::run(trace, test::make_box(1), gpu), 0, "kernel");
  ASSERT_EQ(kernels.size(), 6u);
  EXPECT_EQ(kernels.back().name, "backward");
}

TEST(SimulatorHost, AWaitingThreadDoesNotStopTheOther) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    b.on_thread(1).gemm(s1, 8192, 8192, 4096).record_event(s1, 1);
    b.on_thread(2).host_wait(HostWaitKind::kEvent, trace::kNoStream, 1, 1);  // a watchdog
    b.on_thread(1).kernel(s2, "free", 1, 32, 64);
  });
  const SimulationResult result = test::run(trace, test::make_box(1));
  EXPECT_LT(items(result, 0, "kernel")[0].start_us, 1.0 + items(result, 0, "gemm")[0].end_us);
  EXPECT_LT(items(result, 0, "kernel")[0].start_us - items(result, 0, "gemm")[0].end_us, 1.0);
}

TEST(SimulatorHost, EventChainsOrderStreams) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t a = b.stream(), c = b.stream(), d = b.stream();
    b.kernel(a, "one", 10, 1024, 1 << 26).record_event(a, 1);
    b.wait_event(c, 1).kernel(c, "two", 10, 1024, 1 << 26).record_event(c, 2);
    b.wait_event(d, 2).kernel(d, "three", 10, 1024, 1 << 26);
    b.record_event(a, 1, 2);  // a new recording of event 1
    b.kernel(a, "beside", 10, 1024, 1 << 26);
  });
  const auto kernels = items(test::run(trace, test::make_box(1)), 0, "kernel");
  ASSERT_EQ(kernels.size(), 4u);
  std::map<std::string, TimelineItem> by_name;
  for (const TimelineItem& item : kernels) {
    by_name[item.name] = item;
  }
  EXPECT_GE(by_name["two"].start_us, by_name["one"].end_us - 1e-6);
  EXPECT_GE(by_name["three"].start_us, by_name["two"].end_us - 1e-6);
  EXPECT_LT(by_name["beside"].start_us, by_name["two"].end_us);
}

TEST(SimulatorHost, LegacyDefaultStreamOrdersBlockingStreamsOnly) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t blocking = b.stream(0, false), free = b.stream(0, true);
    b.kernel(blocking, "before", 10, 1024, 1 << 26);
    b.kernel(0, "default", 10, 1024, 1 << 26);
    b.kernel(blocking, "after", 10, 1024, 1 << 26);
    b.kernel(free, "free", 10, 1024, 1 << 26);
  });
  const auto kernels = items(test::run(trace, test::make_box(1)), 0, "kernel");
  std::map<std::string, TimelineItem> by_name;
  for (const TimelineItem& item : kernels) {
    by_name[item.name] = item;
  }
  EXPECT_GE(by_name["default"].start_us, by_name["before"].end_us - 1e-6);
  EXPECT_GE(by_name["after"].start_us, by_name["default"].end_us - 1e-6);
  EXPECT_LT(by_name["free"].start_us, by_name["before"].end_us);
}

TEST(SimulatorHost, SynchronousCopiesBlockAsynchronousDoNot) {
  for (const bool asynchronous : {true, false}) {
    const auto trace = test::make_trace(1, [=](trace::TraceBuilder& b, int) {
      const uint32_t s1 = b.stream(), s2 = b.stream();
      b.copy(s1, 256 << 20, CopyKind::kDeviceToHost, asynchronous).kernel(s2, "k", 1, 32, 64);
    });
    const SimulationResult result = test::run(trace, test::make_box(1));
    const double copy_end = items(result, 0, "copy")[0].end_us;
    EXPECT_GT(copy_end, 256e6 / 24e3);  // no faster than PCIe 4 x16
    EXPECT_EQ(items(result, 0, "kernel")[0].start_us < copy_end, asynchronous);
  }
}

TEST(SimulatorHost, StreamValues) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t s1 = b.stream(), s2 = b.stream();
    b.wait_value(s2, 0x100, 3).kernel(s2, "gated", 1, 32, 64);
    b.kernel(s1, "first", 10, 1024, 1 << 26).write_value(s1, 0x100, 2);
    b.kernel(s1, "second", 10, 1024, 1 << 26).write_value(s1, 0x100, 3);
  });
  const auto kernels = items(test::run(trace, test::make_box(1)), 0, "kernel");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[2].name, "gated");
  EXPECT_GE(kernels[2].start_us, kernels[1].end_us - 1e-6);
}

TEST(SimulatorHost, UserCallsThatBraidReplacedAreNotRun) {
  const auto trace = test::make_trace(1, [](trace::TraceBuilder& b, int) {
    const uint32_t s = b.stream();
    b.with_flags(trace::kUserCall).gemm(s, 8192, 8192, 8192);
    b.with_flags(trace::kIssuedByBraid).gemm(s, 4096, 8192, 8192).gemm(s, 4096, 8192, 8192);
  });
  EXPECT_EQ(items(test::run(trace, test::make_box(1)), 0, "gemm").size(), 2u);
}

TEST(SimulatorHost, GroupedSendsAndReceivesMeet) {
  // Each rank sends to the next and receives from the one before; ungrouped this would not end.
  const int ranks = 4;
  const auto trace = test::make_trace(ranks, [=](trace::TraceBuilder& b, int rank) {
    const uint32_t s = b.stream();
    const uint32_t c = b.communicator(1, rank, ranks);
    b.group(true);
    b.collective(s, c, CollectiveFunction::kSend, 1 << 20, trace::ElementType::kFp32,
                 (rank + 1) % ranks);
    b.collective(s, c, CollectiveFunction::kRecv, 1 << 20, trace::ElementType::kFp32,
                 (rank + ranks - 1) % ranks);
    b.group(false);
  });
  const SimulationResult result = test::run(trace, test::make_box(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto moved = items(result, rank, "collective");
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_GT(length(moved[0]), (4 << 20) / 60e3);
  }
}

TEST(SimulatorHost, RanksAsThreadsOfOneProcess) {
  trace::TraceBuilder b(-1, 2);
  for (int rank = 0; rank < 2; ++rank) {
    b.device(rank, test::gpu_bus(rank));
  }
  std::vector<uint32_t> streams, communicators;
  for (int rank = 0; rank < 2; ++rank) {
    b.on_thread(static_cast<uint32_t>(rank + 1));
    streams.push_back(b.stream(0, true, rank));
    communicators.push_back(b.communicator(9, rank, 2, rank));
  }
  for (int rank = 0; rank < 2; ++rank) {
    const auto i = static_cast<size_t>(rank);
    b.on_thread(static_cast<uint32_t>(rank + 1)).gemm(streams[i], 4096, 4096, 1024);
    b.collective(streams[i], communicators[i], CollectiveFunction::kAllReduce, 1 << 20);
  }
  trace::Trace trace;
  trace.ranks.push_back(b.end().build());
  const SimulationResult result = test::run(trace, test::make_box(2));
  ASSERT_EQ(items(result, 0, "gemm").size(), 1u);
  ASSERT_EQ(items(result, 1, "gemm").size(), 1u);
  EXPECT_NEAR(items(result, 0, "gemm")[0].start_us, items(result, 1, "gemm")[0].start_us, 0.01);
  EXPECT_EQ(items(result, 1, "collective").size(), 1u);
}

}  // namespace
}  // namespace braid::model
