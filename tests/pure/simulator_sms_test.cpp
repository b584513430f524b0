// SMs: what kernels and collectives take from each other, and priorities.
#include <gtest/gtest.h>

#include "model/simulator/compute.hpp"
#include "simulator_test_support.hpp"

namespace braid::model {
namespace {

using test::items;
using test::length;
using trace::CollectiveFunction;

ComputeCost waves(uint64_t blocks, double wave_us) {
  ComputeCost cost;
  cost.blocks = blocks;
  cost.wave_us = wave_us;
  return cost;
}

/// Runs the pool until nothing is left to report and returns when each task ended or was granted.
std::map<TaskId, double> drain(SmPool& pool) {
  std::map<TaskId, double> when;
  for (int guard = 0; guard < 1000; ++guard) {
    const double next = pool.next_us();
    if (!(next < 1e18)) {
      break;
    }
    const PoolChanges changes = pool.update(next);
    for (const TaskId task : changes.finished) {
      when[task] = next;
    }
    for (const TaskId task : changes.granted) {
      when[task] = next;
    }
  }
  return when;
}

TEST(SmPool, AGemmAloneTakesItsWaves) {
  SmPool pool(10, 1, 1);
  pool.add_kernel(0, 1, waves(25, 2), 0);
  EXPECT_NEAR(drain(pool)[1], 6, 1e-6);
}

TEST(SmPool, AGrantedCollectiveShrinksTheNextKernel) {
  SmPool pool(10, 1, 1);
  pool.add_collective(0, 9, 5, 0);
  EXPECT_EQ(pool.update(0).granted, std::vector<TaskId>{9});
  pool.add_kernel(0, 1, waves(20, 2), 0);
  EXPECT_NEAR(drain(pool)[1], 8, 1e-6);  // four waves of five, not two of ten
}

TEST(SmPool, HighPriorityIsPlacedAtTheNextWave) {
  SmPool pool(10, 1, 1);
  pool.add_kernel(0, 1, waves(40, 2), 0);
  pool.update(0);
  pool.update(1);
  pool.add_collective(1, 9, 2, -1);
  EXPECT_NEAR(drain(pool)[9], 2, 1e-5);
}

TEST(SmPool, EqualPriorityWaitsForTheLastWave) {
  SmPool pool(10, 1, 1);
  pool.add_kernel(0, 1, waves(35, 2), 0);  // four waves, five blocks in the last
  pool.update(0);
  pool.add_collective(1, 9, 2, 0);
  EXPECT_NEAR(drain(pool)[9], 6, 1e-5);
}

TEST(SmPool, AFullLastWaveMakesItWaitForTheEnd) {
  SmPool pool(10, 1, 1);
  pool.add_kernel(0, 1, waves(40, 2), 0);
  pool.update(0);
  pool.add_collective(1, 9, 2, 0);
  EXPECT_NEAR(drain(pool)[9], 8, 1e-5);
}

TEST(SmPool, ALaterKernelDoesNotOvertakeAWaitingCollective) {
  SmPool pool(10, 1, 1);
  pool.add_kernel(0, 1, waves(40, 2), 0);
  pool.update(0);
  pool.add_collective(1, 9, 2, 0);
  pool.add_kernel(1, 2, waves(40, 2), 0);
  const auto when = drain(pool);
  EXPECT_NEAR(when.at(9), 8, 1e-5);
  EXPECT_NEAR(when.at(2), 8 + 10, 1e-4);  // five waves of eight
}

TEST(SmPool, ASecondKernelSharesWhatIsLeft) {
  SmPool pool(10, 1, 1);
  pool.add_kernel(0, 1, waves(6, 10), 0);
  pool.add_kernel(0, 2, waves(8, 1), 0);
  EXPECT_NEAR(drain(pool)[2], 2, 1e-6);  // two waves on the four SMs left
}

TEST(SmPool, ContentionStretchesOnlyBesideACollective) {
  SmPool pool(10, 1, 1.5);
  pool.add_kernel(0, 1, waves(10, 2), 0);
  EXPECT_NEAR(drain(pool)[1], 2, 1e-6);
  pool.add_collective(10, 9, 1, 0);
  pool.update(10);
  pool.add_kernel(10, 2, waves(9, 2), 0);
  EXPECT_NEAR(drain(pool)[2], 13, 1e-6);
}

TEST(SimulatorSms, AWaitingCollectiveHoldsItsSms) {
  // Rank 1 comes late; rank 0's collective spins meanwhile and its GEMM runs on fewer SMs.
  const auto trace = [](bool late) {
    return test::make_trace(2, [late](trace::TraceBuilder& b, int rank) {
      const uint32_t comm_stream = b.stream(-1), compute = b.stream(0);
      const uint32_t tp = b.communicator(1, rank, 2);
      if (rank == 1 && late) {
        b.gemm(comm_stream, 16384, 8192, 8192);
      }
      b.collective(comm_stream, tp, CollectiveFunction::kAllReduce, 1 << 16);
      b.gemm(compute, 8192, 8192, 2048);
    });
  };
  const Topology box = test::make_box(2);
  const SimulationResult prompt = test::run(trace(false), box);
  const SimulationResult late = test::run(trace(true), box);
  EXPECT_GT(length(items(late, 0, "gemm")[0]), length(items(prompt, 0, "gemm")[0]));
  EXPECT_GT(length(items(late, 0, "collective")[0]), length(items(prompt, 0, "collective")[0]) * 5);
}

TEST(SimulatorSms, PriorityDecidesWhenACollectiveGetsIn) {
  const auto trace = [](int priority) {
    return test::make_trace(2, [priority](trace::TraceBuilder& b, int rank) {
      const uint32_t compute = b.stream(0), side = b.stream(priority);
      const uint32_t tp = b.communicator(1, rank, 2);
      b.gemm(compute, 16384, 8192, 4096);
      b.kernel(side, "first", 1, 32, 64);
      b.collective(side, tp, CollectiveFunction::kAllReduce, 1 << 20);
    });
  };
  const Topology box = test::make_box(2);
  const SimulationResult low = test::run(trace(0), box), high = test::run(trace(-5), box);
  const double low_start = items(low, 0, "collective")[0].start_us;
  const double high_start = items(high, 0, "collective")[0].start_us;
  EXPECT_LT(high_start, low_start / 2);
  EXPECT_GT(low_start, items(low, 0, "gemm")[0].end_us * 0.8);
}

}  // namespace
}  // namespace braid::model
