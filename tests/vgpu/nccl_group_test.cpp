// Groups, messages between pairs, several streams, several ranks on one thread.
#include "nccl_test_support.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

TEST(NcclGroup, OneThreadRunsAllRanks) {
  use_box();
  use_device(0);
  constexpr int kRanks = 4;
  ncclComm_t comms[kRanks];
  ASSERT_NCCL(ncclCommInitAll(comms, kRanks, nullptr));
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<CUstream> streams;
  ASSERT_NCCL(ncclGroupStart());
  for (int i = 0; i < kRanks; ++i) {
    use_device(i);
    streams.push_back(make_stream());
    buffers.push_back(std::make_unique<DeviceBuffer>(sizeof(int32_t)));
    *buffers.back()->as<int32_t>() = i + 1;
    ASSERT_NCCL(ncclAllReduce(buffers[i]->data(), buffers[i]->data(), 1, ncclInt32, ncclSum,
                              comms[i], streams[i]));
  }
  ASSERT_NCCL(ncclGroupEnd());
  for (int i = 0; i < kRanks; ++i) {
    EXPECT_CUDA(cuStreamSynchronize(streams[i]));
    EXPECT_EQ(*buffers[i]->as<int32_t>(), 10);
    int rank = -1, count = -1, device = -1;
    EXPECT_NCCL(ncclCommUserRank(comms[i], &rank));
    EXPECT_NCCL(ncclCommCount(comms[i], &count));
    EXPECT_NCCL(ncclCommCuDevice(comms[i], &device));
    EXPECT_EQ(rank, i);
    EXPECT_EQ(count, kRanks);
    EXPECT_EQ(device, i);
    EXPECT_NCCL(ncclCommDestroy(comms[i]));
  }
}

TEST(NcclGroup, InitialisesSeveralRanksInOneGroup) {
  use_box();
  use_device(0);
  ncclUniqueId id;
  ASSERT_NCCL(ncclGetUniqueId(&id));
  ncclComm_t comms[3];
  ASSERT_NCCL(ncclGroupStart());
  for (int i = 0; i < 3; ++i) {
    use_device(i);
    ASSERT_NCCL(ncclCommInitRank(&comms[i], 3, id, i));
  }
  ASSERT_NCCL(ncclGroupEnd());
  for (ncclComm_t comm : comms) {
    EXPECT_NCCL(ncclCommDestroy(comm));
  }
}

TEST(NcclGroup, MembersMayBeCalledInAnyOrder) {
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer small(64), large(4096);
    std::memset(small.data(), rank.rank + 1, small.bytes());
    std::memset(large.data(), rank.rank + 1, large.bytes());
    ASSERT_NCCL(ncclGroupStart());
    for (int i = 0; i < 2; ++i) {
      const DeviceBuffer& buffer = (i == 0) == (rank.rank == 0) ? small : large;
      ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), buffer.bytes(), ncclUint8, ncclSum,
                                rank.comm, rank.stream));
    }
    ASSERT_NCCL(ncclGroupEnd());
    rank.synchronize();
    EXPECT_EQ(small.as<uint8_t>()[63], 3);
    EXPECT_EQ(large.as<uint8_t>()[4095], 3);
  });
}

TEST(NcclGroup, MessagesOfAPairAreMatchedInOrder) {
  run_ranks(4, [](Rank& rank) {
    constexpr int kMessages = 5;
    const int n = rank.ranks;
    DeviceBuffer out(static_cast<size_t>(n * kMessages) * 4), in(out.bytes());
    ASSERT_NCCL(ncclGroupStart());
    for (int message = 0; message < kMessages; ++message) {
      for (int peer = 0; peer < n; ++peer) {
        int32_t* sent = out.as<int32_t>() + peer * kMessages + message;
        *sent = 100 * rank.rank + 10 * peer + message;
        ASSERT_NCCL(ncclSend(sent, 1, ncclInt32, peer, rank.comm, rank.stream));
        ASSERT_NCCL(ncclRecv(in.as<int32_t>() + peer * kMessages + message, 1, ncclInt32, peer,
                             rank.comm, rank.stream));
      }
    }
    ASSERT_NCCL(ncclGroupEnd());
    rank.synchronize();
    for (int peer = 0; peer < n; ++peer) {
      for (int message = 0; message < kMessages; ++message) {
        EXPECT_EQ(in.as<int32_t>()[peer * kMessages + message],
                  100 * peer + 10 * rank.rank + message);
      }
    }
  });
}

TEST(NcclGroup, MessagesTravelAroundARing) {
  run_ranks(4, [](Rank& rank) {
    DeviceBuffer out(1 << 20), in(1 << 20);
    std::memset(out.data(), rank.rank, out.bytes());
    const int next = (rank.rank + 1) % rank.ranks, previous = (rank.rank + 3) % rank.ranks;
    ASSERT_NCCL(ncclGroupStart());
    ASSERT_NCCL(ncclSend(out.data(), out.bytes(), ncclChar, next, rank.comm, rank.stream));
    ASSERT_NCCL(ncclRecv(in.data(), in.bytes(), ncclChar, previous, rank.comm, rank.stream));
    ASSERT_NCCL(ncclGroupEnd());
    rank.synchronize();
    EXPECT_EQ(in.as<char>()[in.bytes() - 1], previous);
  });
}

TEST(NcclGroup, UngroupedMessagesAndEmptyOnesAreDelivered) {
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(8);
    *buffer.as<int64_t>() = rank.rank == 0 ? 42 : 0;
    for (const size_t count : {size_t{0}, size_t{1}}) {
      if (rank.rank == 0) {
        ASSERT_NCCL(ncclSend(buffer.data(), count, ncclInt64, 1, rank.comm, rank.stream));
      } else {
        ASSERT_NCCL(ncclRecv(buffer.data(), count, ncclInt64, 0, rank.comm, rank.stream));
      }
    }
    rank.synchronize();
    EXPECT_EQ(*buffer.as<int64_t>(), 42);
  });
}

TEST(NcclGroup, AllStreamsOfAGroupWaitForIt) {
  run_ranks(2, [](Rank& rank) {
    const CUstream other = make_stream();
    DeviceBuffer a(1 << 16), b(1 << 16);
    // The second stream's earlier work comes first, and its later work comes after.
    EXPECT_CUDA(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(a.data()), 1, a.bytes(), other));
    EXPECT_CUDA(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(b.data()), 1, b.bytes(), other));
    ASSERT_NCCL(ncclGroupStart());
    ASSERT_NCCL(
        ncclAllReduce(a.data(), a.data(), a.bytes(), ncclUint8, ncclSum, rank.comm, rank.stream));
    ASSERT_NCCL(ncclAllReduce(b.data(), b.data(), b.bytes(), ncclUint8, ncclSum, rank.comm, other));
    ASSERT_NCCL(ncclGroupEnd());
    EXPECT_CUDA(cuStreamSynchronize(other));
    EXPECT_EQ(a.as<uint8_t>()[0], 2);
    EXPECT_EQ(b.as<uint8_t>()[b.bytes() - 1], 2);
    rank.synchronize();
    EXPECT_CUDA(cuStreamDestroy(other));
  });
}

TEST(NcclGroup, LaunchesOfACommunicatorRunInCallOrderAcrossStreams) {
  run_ranks(2, [](Rank& rank) {
    const CUstream other = make_stream();
    DeviceBuffer buffer(4);
    *buffer.as<int32_t>() = 1;
    for (int i = 0; i < 20; ++i) {
      ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, rank.comm,
                                i % 2 == 0 ? rank.stream : other));
    }
    rank.synchronize();
    EXPECT_CUDA(cuStreamSynchronize(other));
    EXPECT_EQ(*buffer.as<int32_t>(), 1 << 20);
    EXPECT_CUDA(cuStreamDestroy(other));
  });
}

TEST(NcclGroup, AnErrorInsideIsReportedAtTheEndAndNothingIsDone) {
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(4);
    *buffer.as<int32_t>() = 5;
    ASSERT_NCCL(ncclGroupStart());
    EXPECT_NCCL(
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, rank.comm, rank.stream));
    EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclNumTypes, ncclSum, rank.comm,
                            rank.stream),
              ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    rank.synchronize();
    EXPECT_EQ(*buffer.as<int32_t>(), 5);
    // The communicator can still be used.
    ASSERT_NCCL(
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, rank.comm, rank.stream));
    rank.synchronize();
    EXPECT_EQ(*buffer.as<int32_t>(), 10);
  });
}

TEST(NcclGroup, AMessageToOneselfNeedsItsOtherHalf) {
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(8);
    EXPECT_EQ(ncclSend(buffer.data(), 1, ncclInt32, rank.rank, rank.comm, rank.stream),
              ncclInvalidUsage);
    EXPECT_TRUE(last_error_has("without a matching recv"));
  });
}

TEST(NcclGroup, EndWithoutStartIsRefused) {
  use_box();
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_TRUE(last_error_has("not in a group"));
}

TEST(NcclGroup, SimulationEstimatesAndRunsNothing) {
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(1 << 20);
    std::memset(buffer.data(), 1, buffer.bytes());
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    ASSERT_NCCL(ncclGroupStart());
    ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), buffer.bytes(), ncclUint8, ncclSum,
                              rank.comm, rank.stream));
    ASSERT_NCCL(ncclGroupSimulateEnd(&info));
    EXPECT_GT(info.estimatedTime, 0.0f);
    rank.synchronize();
    EXPECT_EQ(*buffer.as<uint8_t>(), 1);
  });
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
