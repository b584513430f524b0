// The scheduler's knobs: hardware queues, SM shares, seeds. Each needs a process of its own.
#include "core_test_support.hpp"

namespace braid::vgpu::testing {
namespace {

TEST(SchedulerTest, OneQueueBlocksBehindItsHead) {
  Child one("queue-head", {{"BRAID_VGPU_QUEUES", "1"}});
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_EQ(one.output(), "blocked\n");
}

TEST(SchedulerTest, CudaDeviceMaxConnectionsCountsWhenBraidsIsNotSet) {
  Child one("queue-head", {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_EQ(one.output(), "blocked\n");
  Child both("queue-head", {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}, {"BRAID_VGPU_QUEUES", "32"}});
  EXPECT_EQ(both.wait(), 0) << both.output();
  EXPECT_EQ(both.output(), "free\n");
}

TEST(SchedulerTest, SeveralQueuesLetStreamsPass) {
  Child eight("queue-head", {{"BRAID_VGPU_QUEUES", "8"}});
  EXPECT_EQ(eight.wait(), 0) << eight.output();
  EXPECT_EQ(eight.output(), "free\n");
}

TEST(SchedulerTest, SharesLimitWhatRunsAtOnce) {
  Child child("shares", {{"BRAID_VGPU_SMS", "4"}});
  EXPECT_EQ(child.wait(), 0) << child.output();
}

int early_reads(const std::string& program, int seed) {
  Child child(program, {{"BRAID_VGPU_SEED", std::to_string(seed)}});
  EXPECT_EQ(child.wait(), 0) << "seed " << seed << "\n" << child.output();
  const std::string output = child.output();
  // The last line; under a seed the message that names it comes first.
  return std::atoi(output.c_str() + output.rfind('\n', output.size() - 2) + 1);
}

TEST(SchedulerTest, SeedsFindAMissingDependency) {
  EXPECT_EQ(early_reads("racy-reader", 0), 0);  // the fair order hides it
  int early = 0;
  for (int seed = 1; seed <= 4; ++seed) {
    early += early_reads("racy-reader", seed);
  }
  EXPECT_GT(early, 0);
}

TEST(SchedulerTest, SeedsNeverBreakACorrectProgram) {
  for (int seed = 0; seed <= 4; ++seed) {
    EXPECT_EQ(early_reads("ordered-reader", seed), 0) << "seed " << seed;
  }
}

TEST(SchedulerTest, RandomProgramsGiveTheirSequentialResult) {
  for (int seed = 1; seed <= 6; ++seed) {
    const std::string queues = seed % 3 == 0 ? "1" : "8";
    Child child("random-program",
                {{"BRAID_VGPU_SEED", std::to_string(seed % 2 == 0 ? 0 : seed)},
                 {"BRAID_VGPU_QUEUES", queues}},
                {std::to_string(seed)});
    EXPECT_EQ(child.wait(), 0) << "seed " << seed << "\n" << child.output();
  }
}

TEST(SchedulerTest, UnknownKernelsAreSkippedOnlyWhenAsked) {
  Child skipped("unknown-kernel", {{"BRAID_VGPU_KERNELS", "skip"}});
  EXPECT_EQ(skipped.wait(), 0) << skipped.output();
  EXPECT_NE(skipped.output().find("skipped: kernel mystery, grid (2,3,4), block (5,1,1)"),
            std::string::npos);
  Child refused("unknown-kernel", {});
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_NE(refused.output().find("mystery"), std::string::npos);
}

TEST(SchedulerTest, KernelsComeFromLibraries) {
  Child child("loaded-kernel", {{"BRAID_VGPU_KERNEL_PATH", BRAID_SAMPLE_KERNELS}});
  EXPECT_EQ(child.wait(), 0) << child.output();
  Child missing("loaded-kernel", {{"BRAID_VGPU_KERNEL_PATH", "/nonexistent/k.so"}});
  EXPECT_EQ(missing.wait(), 1);
  EXPECT_NE(missing.output().find("/nonexistent/k.so"), std::string::npos);
}

TEST(SchedulerTest, ComputeOffTouchesNoMemory) {
  Child child("no-compute", {{"BRAID_VGPU_COMPUTE", "off"}});
  EXPECT_EQ(child.wait(), 0) << child.output();
}

}  // namespace
}  // namespace braid::vgpu::testing
