// Making and ending communicators: nonblocking, split, shrink, abort, revoke, arguments, growth.
#include <dirent.h>

#include <atomic>
#include <fstream>

#include "nccl_test_support.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

int sum_of_ranks(ncclComm_t comm, CUstream stream) {
  DeviceBuffer buffer(4);
  int rank = 0;
  EXPECT_NCCL(ncclCommUserRank(comm, &rank));
  *buffer.as<int32_t>() = rank;
  EXPECT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, comm, stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
  return *buffer.as<int32_t>();
}

TEST(NcclLifecycle, NonblockingCallsCompleteLater) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  run_threads(4, [&](int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    const ncclResult_t started = ncclCommInitRankConfig(&comm, 4, id, rank, &config);
    ASSERT_TRUE(started == ncclSuccess || started == ncclInProgress);
    ASSERT_NE(comm, nullptr);
    ASSERT_EQ(settle(comm), ncclSuccess);
    const CUstream stream = make_stream();
    DeviceBuffer buffer(4);
    *buffer.as<int32_t>() = 1;
    const ncclResult_t called =
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, comm, stream);
    ASSERT_TRUE(called == ncclSuccess || called == ncclInProgress);
    ASSERT_EQ(settle(comm), ncclSuccess);
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(*buffer.as<int32_t>(), 4);
    const ncclResult_t finalized = ncclCommFinalize(comm);
    ASSERT_TRUE(finalized == ncclSuccess || finalized == ncclInProgress);
    ASSERT_EQ(settle(comm), ncclSuccess);
    EXPECT_NCCL(ncclCommDestroy(comm));
  });
}

TEST(NcclLifecycle, NonblockingInitialisationCanBeAborted) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  int count = 0;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclInvalidArgument);
  EXPECT_NCCL(ncclCommAbort(comm));
}

TEST(NcclLifecycle, SplitsByColourAndOrdersByKey) {
  run_ranks(4, [](Rank& rank) {
    ncclComm_t half = nullptr;
    // Odd and even ranks, each in reversed order.
    ASSERT_NCCL(ncclCommSplit(rank.comm, rank.rank % 2, -rank.rank, &half, nullptr));
    int count = 0, number = 0;
    EXPECT_NCCL(ncclCommCount(half, &count));
    EXPECT_NCCL(ncclCommUserRank(half, &number));
    EXPECT_EQ(count, 2);
    EXPECT_EQ(number, rank.rank < 2 ? 1 : 0);
    EXPECT_EQ(sum_of_ranks(half, rank.stream), 1);
    EXPECT_NCCL(ncclCommDestroy(half));
    ncclComm_t some = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.splitShare = 1;
    config.maxCTAs = 2;
    const int color = rank.rank == 3 ? NCCL_SPLIT_NOCOLOR : 7;
    ASSERT_NCCL(ncclCommSplit(rank.comm, color, 0, &some, &config));
    EXPECT_EQ(some == nullptr, rank.rank == 3);
    if (some != nullptr) {
      EXPECT_EQ(sum_of_ranks(some, rank.stream), 3);
      EXPECT_NCCL(ncclCommDestroy(some));
    }
  });
}

TEST(NcclLifecycle, SplitsInsideAGroupOfOneThread) {
  use_box();
  use_device(0);
  ncclComm_t comms[4], children[4];
  ASSERT_NCCL(ncclCommInitAll(comms, 4, nullptr));
  ASSERT_NCCL(ncclGroupStart());
  for (int i = 0; i < 4; ++i) {
    ASSERT_NCCL(ncclCommSplit(comms[i], i / 2, i, &children[i], nullptr));
  }
  ASSERT_NCCL(ncclGroupEnd());
  for (int i = 0; i < 4; ++i) {
    int rank = -1;
    EXPECT_NCCL(ncclCommUserRank(children[i], &rank));
    EXPECT_EQ(rank, i % 2);
    EXPECT_NCCL(ncclCommDestroy(children[i]));
    EXPECT_NCCL(ncclCommDestroy(comms[i]));
  }
}

TEST(NcclLifecycle, ShrinksWithoutTheExcludedRanks) {
  run_ranks(4, [](Rank& rank) {
    int excluded[] = {1};
    ncclComm_t rest = nullptr;
    if (rank.rank == 1) {
      EXPECT_EQ(ncclCommShrink(rank.comm, excluded, 1, &rest, nullptr, NCCL_SHRINK_DEFAULT),
                ncclInvalidArgument);
      return;
    }
    ASSERT_NCCL(ncclCommShrink(rank.comm, excluded, 1, &rest, nullptr, NCCL_SHRINK_DEFAULT));
    EXPECT_EQ(sum_of_ranks(rest, rank.stream), 3);
    EXPECT_NCCL(ncclCommDestroy(rest));
  });
}

TEST(NcclLifecycle, ShrinkingAfterALossEndsWhatIsPending) {
  run_ranks(3, [](Rank& rank) {
    if (rank.rank == 2) {
      return;  // never calls; its communicator is destroyed when the others may have noticed
    }
    DeviceBuffer buffer(4);
    ASSERT_NCCL(
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, rank.comm, rank.stream));
    int excluded[] = {2};
    ncclComm_t rest = nullptr;
    ASSERT_NCCL(ncclCommShrink(rank.comm, excluded, 1, &rest, nullptr, NCCL_SHRINK_ABORT));
    rank.synchronize();
    EXPECT_EQ(sum_of_ranks(rest, rank.stream), 1);
    EXPECT_NCCL(ncclCommDestroy(rest));
  });
}

TEST(NcclLifecycle, AbortFreesPendingWork) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  run_threads(2, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_NCCL(ncclCommInitRank(&comm, 2, id, rank));
    if (rank == 0) {
      const CUstream stream = make_stream();
      DeviceBuffer buffer(4);
      ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, comm, stream));
      EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
      std::thread other([&] { EXPECT_NCCL(ncclCommAbort(comm)); });
      EXPECT_CUDA(cuStreamSynchronize(stream));
      other.join();
    } else {
      EXPECT_NCCL(ncclCommAbort(comm));
    }
  });
}

TEST(NcclLifecycle, RevokedCommunicatorsCanOnlyBeLeft) {
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(4);
    if (rank.rank == 0) {
      ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, rank.comm,
                                rank.stream));
    }
    ASSERT_NCCL(ncclCommRevoke(rank.comm, NCCL_REVOKE_DEFAULT));
    rank.synchronize();
    ncclResult_t state = ncclInternalError;
    EXPECT_NCCL(ncclCommGetAsyncError(rank.comm, &state));
    EXPECT_EQ(state, ncclSuccess);
    EXPECT_EQ(
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, rank.comm, rank.stream),
        ncclInvalidUsage);
    EXPECT_EQ(ncclCommFinalize(rank.comm), ncclInvalidUsage);
  });
}

TEST(NcclLifecycle, OnlyTheIdsOwnBytesCount) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  for (size_t i = 64; i < sizeof(id.internal); ++i) {
    ASSERT_EQ(id.internal[i], 0);
  }
  run_threads(2, [&](int rank) {
    ncclUniqueId stamped = id;
    std::memset(stamped.internal + 64, rank + 1, sizeof(stamped.internal) - 64);
    ncclComm_t comm = nullptr;
    ASSERT_NCCL(ncclCommInitRank(&comm, 2, stamped, rank));
    EXPECT_NCCL(ncclCommDestroy(comm));
  });
}

TEST(NcclLifecycle, TwoRanksOnOneDeviceAreRefusedOnAllRanks) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  run_threads(2, [&](int rank) {
    use_device(0);
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclInvalidUsage);
    EXPECT_EQ(comm, nullptr);
  });
  EXPECT_TRUE(last_error_has("Duplicate GPU detected"));
}

TEST(NcclLifecycle, WrongArgumentsAreNamed) {
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(64);
    void* data = buffer.data();
    ncclComm_t comm = nullptr;
    ncclUniqueId id;
    ASSERT_NCCL(ncclGetUniqueId(&id));
    EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRank(nullptr, 2, id, 0), ncclInvalidArgument);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = 8;
    config.maxCTAs = 4;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInvalidArgument);
    config.magic = 0;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, nullptr, rank.stream),
              ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, static_cast<ncclRedOp_t>(77777), rank.comm,
                            rank.stream),
              ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt32, 2, rank.comm, rank.stream),
              ncclInvalidArgument);
    EXPECT_EQ(ncclSend(data, 1, ncclInt32, -1, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclCommWindowRegister(rank.comm, data, 64, nullptr, 0), ncclInvalidUsage);
    ncclResult_t state;
    EXPECT_NCCL(ncclCommGetAsyncError(rank.comm, &state));
    EXPECT_EQ(state, ncclSuccess);
    void* handle = nullptr;
    EXPECT_NCCL(ncclCommRegister(rank.comm, data, 64, &handle));
    EXPECT_NCCL(ncclCommDeregister(rank.comm, handle));
    EXPECT_EQ(ncclCommDeregister(rank.comm, handle), ncclInvalidUsage);
  });
}

TEST(NcclLifecycle, DestroyedHandlesAreRecognised) {
  use_box();
  use_device(0);
  ncclComm_t comm = nullptr;
  ASSERT_NCCL(ncclCommInitAll(&comm, 1, nullptr));
  ASSERT_NCCL(ncclCommDestroy(comm));
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
  int count = 0;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclInvalidArgument);
}

TEST(NcclLifecycle, AStreamOfAnotherDeviceIsRefused) {
  use_box();
  use_device(1);
  const CUstream foreign = make_stream();
  use_device(0);
  ncclComm_t comm = nullptr;
  ASSERT_NCCL(ncclCommInitAll(&comm, 1, nullptr));
  DeviceBuffer buffer(4);
  EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, comm, foreign),
            ncclUnhandledCudaError);
  EXPECT_NCCL(ncclCommDestroy(comm));
}

TEST(NcclLifecycle, AllocatesAndFreesDeviceMemory) {
  use_box();
  use_device(2);
  void* memory = nullptr;
  ASSERT_NCCL(ncclMemAlloc(&memory, 1 << 20));
  const auto allocation = find_allocation(reinterpret_cast<uint64_t>(memory));
  ASSERT_TRUE(allocation.has_value());
  EXPECT_EQ(allocation->device, 2);
  EXPECT_NCCL(ncclMemFree(memory));
  EXPECT_EQ(ncclMemFree(memory), ncclUnhandledCudaError);
}

size_t count_entries(const char* folder) {
  size_t count = 0;
  if (DIR* directory = opendir(folder)) {
    while (readdir(directory) != nullptr) {
      ++count;
    }
    closedir(directory);
  }
  return count;
}

TEST(NcclLifecycle, ManyCommunicatorsLeaveNothingBehind) {
  use_box();
  use_device(0);
  const auto make_and_destroy = [](int times) {
    for (int i = 0; i < times; ++i) {
      ncclUniqueId id;
      ASSERT_NCCL(ncclGetUniqueId(&id));
      run_threads(2, [&](int rank) {
        ncclComm_t comm = nullptr;
        ASSERT_NCCL(ncclCommInitRank(&comm, 2, id, rank));
        EXPECT_NCCL(ncclCommDestroy(comm));
      });
    }
  };
  make_and_destroy(5);
  const size_t descriptors = count_entries("/proc/self/fd");
  const size_t threads = count_entries("/proc/self/task");
  std::ifstream before_file("/proc/self/maps");
  const auto before = std::count(std::istreambuf_iterator<char>(before_file), {}, '\n');
  make_and_destroy(100);
  // A slot stays open for the next communicator; a destroyed one and its successor may overlap.
  EXPECT_LE(count_entries("/proc/self/fd"), descriptors + 2);
  EXPECT_LE(count_entries("/proc/self/task"), threads);
  std::ifstream after_file("/proc/self/maps");
  const auto after = std::count(std::istreambuf_iterator<char>(after_file), {}, '\n');
  EXPECT_LE(after, before + 64);
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
