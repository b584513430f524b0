// Programs that are wrong: calls that differ between ranks, bad memory, deadlocks by too few SMs.
#include <atomic>

#include "nccl_test_support.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

/// Both ranks make their call; both see the error and the text in its message.
void expect_mismatch(const std::function<ncclResult_t(Rank&, void*)>& call,
                     const std::string& text) {
  run_ranks(2, [&](Rank& rank) {
    DeviceBuffer buffer(4096);
    EXPECT_NCCL(call(rank, buffer.data()));
    EXPECT_EQ(wait_for_error(rank.comm), ncclInvalidUsage);
    rank.synchronize();
    EXPECT_TRUE(last_error_has(text)) << ncclGetLastError(nullptr);
    EXPECT_EQ(call(rank, buffer.data()), ncclInvalidUsage);
    EXPECT_NCCL(ncclCommAbort(rank.comm));
    rank.comm = nullptr;
  });
}

TEST(NcclFaults, DifferentCountsAreReported) {
  expect_mismatch(
      [](Rank& rank, void* data) {
        return ncclAllReduce(data, data, 10 + static_cast<size_t>(rank.rank), ncclFloat32, ncclSum,
                             rank.comm, rank.stream);
      },
      "AllReduce(count 11, ncclFloat32, Sum)");
}

TEST(NcclFaults, DifferentFunctionsAreReported) {
  expect_mismatch(
      [](Rank& rank, void* data) {
        if (rank.rank == 0) {
          return ncclAllReduce(data, data, 10, ncclInt32, ncclSum, rank.comm, rank.stream);
        }
        return ncclBroadcast(data, data, 10, ncclInt32, 0, rank.comm, rank.stream);
      },
      "Broadcast(count 10, ncclInt32, root 0)");
}

TEST(NcclFaults, DifferentSizesOfAMessageAreReported) {
  expect_mismatch(
      [](Rank& rank, void* data) {
        return rank.rank == 0 ? ncclSend(data, 5, ncclChar, 1, rank.comm, rank.stream)
                              : ncclRecv(data, 6, ncclChar, 0, rank.comm, rank.stream);
      },
      "5 bytes are sent, 6 are expected");
}

TEST(NcclFaults, SettingsThatDifferBetweenRanksAreReported) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  run_threads(4, [&](int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = rank == 2 ? 1 : 8;
    ncclComm_t comm = nullptr;
    ASSERT_NCCL(ncclCommInitRankConfig(&comm, 4, id, rank, &config));
    const CUstream stream = make_stream();
    DeviceBuffer buffer(1 << 20);
    ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), buffer.bytes(), ncclUint8, ncclSum,
                              comm, stream));
    EXPECT_EQ(wait_for_error(comm), ncclInvalidUsage);
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_NCCL(ncclCommAbort(comm));
  });
}

TEST(NcclFaults, BadMemoryLeavesTheDeviceInAStickyError) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  run_threads(2, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_NCCL(ncclCommInitRank(&comm, 2, id, rank));
    const CUstream stream = make_stream();
    // Rank 1's buffer is too short for the count.
    constexpr size_t count = 1 << 20;
    DeviceBuffer buffer(rank == 1 ? 64 : count);
    void* data = buffer.data();
    ASSERT_NCCL(ncclAllReduce(data, data, count, ncclUint8, ncclSum, comm, stream));
    const ncclResult_t error = wait_for_error(comm);
    EXPECT_EQ(error, rank == 1 ? ncclUnhandledCudaError : ncclRemoteError);
    EXPECT_EQ(cuStreamSynchronize(stream), rank == 1 ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS);
    EXPECT_NCCL(ncclCommAbort(comm));
  });
}

/// Two communicators over the same two devices, used in opposite order by the two ranks on streams
/// of their own. True when both collectives complete.
bool opposite_order_completes(const char* sms) {
  setenv("BRAID_VGPU_SMS", sms, 1);
  setenv("NCCL_MIN_NCHANNELS", "4", 1);
  setenv("NCCL_MAX_NCHANNELS", "4", 1);
  use_box();
  use_device(0);
  ncclUniqueId ids[2];
  EXPECT_NCCL(ncclGetUniqueId(&ids[0]));
  EXPECT_NCCL(ncclGetUniqueId(&ids[1]));
  bool completed[2] = {false, false};
  std::atomic<int> started{0}, gave_up{0};
  run_threads(2, [&](int rank) {
    ncclComm_t comms[2];
    CUstream streams[2] = {make_stream(), make_stream()};
    for (int i = 0; i < 2; ++i) {
      ASSERT_NCCL(ncclCommInitRank(&comms[i], 2, ids[i], rank));
    }
    DeviceBuffer first(4 << 20), second(4 << 20);
    const auto call = [&](int which) {
      const DeviceBuffer& buffer = which == 0 ? first : second;
      ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), buffer.bytes(), ncclUint8, ncclMax,
                                comms[which], streams[which]));
    };
    call(rank == 0 ? 0 : 1);
    // The first is running, and holds its shares, before the second is issued.
    ++started;
    while (started < 2) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    call(rank == 0 ? 1 : 0);
    for (int tries = 0; tries < 1000 && !completed[rank]; ++tries) {
      completed[rank] =
          cuStreamQuery(streams[0]) == CUDA_SUCCESS && cuStreamQuery(streams[1]) == CUDA_SUCCESS;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++gave_up;
    while (gave_up < 2) {
      std::this_thread::yield();
    }
    for (int i = 0; i < 2; ++i) {
      EXPECT_NCCL(ncclCommAbort(comms[i]));
      EXPECT_CUDA(cuStreamSynchronize(streams[i]));
    }
  });
  return completed[0] && completed[1];
}

TEST(NcclFaults, OppositeOrderDeadlocksWhenOnlyOneFits) {
  EXPECT_FALSE(opposite_order_completes("4"));
}

TEST(NcclFaultsWithRoom, OppositeOrderCompletesWhenBothFit) {
  EXPECT_TRUE(opposite_order_completes("8"));
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
