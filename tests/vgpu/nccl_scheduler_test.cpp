// The knobs of the virtual box, as far as NCCL has to respect them. Every test here sets them
// before the process's first CUDA call, so each needs a process of its own (as ctest gives it).
#include <atomic>
#include <utility>

#include "nccl_test_support.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

/// True (and skipped) when an earlier test of this process has already fixed the settings.
bool settings_are_fixed() {
  static bool used = false;
  return std::exchange(used, true);
}

/// Looks at memory that is being written: what a program must not do, and this test does on
/// purpose.
__attribute__((no_sanitize("thread"))) uint8_t peek(const uint8_t* address) {
  return *static_cast<const volatile uint8_t*>(address);
}

TEST(NcclScheduler, WithoutComputeNoMemoryIsTouchedButRanksStillMeet) {
  if (settings_are_fixed()) {
    GTEST_SKIP() << "needs a process of its own";
  }
  setenv("BRAID_VGPU_COMPUTE", "off", 1);
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(1024);
    std::memset(buffer.data(), 1, buffer.bytes());
    if (rank.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.as<uint8_t>() + 512, 512, ncclUint8, ncclSum,
                              rank.comm, rank.stream));
    rank.synchronize();
    EXPECT_EQ(buffer.as<uint8_t>()[0], 1);
    EXPECT_EQ(buffer.as<uint8_t>()[1023], 1);
  });
}

TEST(NcclScheduler, UnderASeedAReceiveBufferIsUndefinedWhileTheCollectiveRuns) {
  if (settings_are_fixed()) {
    GTEST_SKIP() << "needs a process of its own";
  }
  setenv("BRAID_VGPU_SEED", "3", 1);
  std::atomic<bool> seen{false};
  run_ranks(2, [&](Rank& rank) {
    DeviceBuffer send(64), receive(64);
    std::memset(send.data(), 1, send.bytes());
    std::memset(receive.data(), 7, receive.bytes());
    if (rank.rank == 1) {
      while (!seen) {  // rank 0 has started and waits
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    ASSERT_NCCL(
        ncclAllReduce(send.data(), receive.data(), 64, ncclUint8, ncclSum, rank.comm, rank.stream));
    if (rank.rank == 0) {
      while (peek(receive.as<uint8_t>() + 63) != 0xff) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      seen = true;
    }
    rank.synchronize();
    EXPECT_EQ(receive.as<uint8_t>()[63], 2);
  });
}

TEST(NcclScheduler, RanksThatShareNcclCommIdMeetWithoutPassingAnId) {
  setenv("NCCL_COMM_ID", "127.0.0.1:29999", 1);
  use_box();
  use_device(0);
  for (int round = 0; round < 2; ++round) {
    run_threads(2, [&](int rank) {
      ncclUniqueId id;
      ASSERT_NCCL(ncclGetUniqueId(&id));
      ncclComm_t comm = nullptr;
      ASSERT_NCCL(ncclCommInitRank(&comm, 2, id, rank));
      EXPECT_NCCL(ncclCommDestroy(comm));
    });
  }
  unsetenv("NCCL_COMM_ID");
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
