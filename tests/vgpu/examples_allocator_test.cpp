// The examples' caching allocator: reuse in stream order, and that forgetting a join is caught.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "examples/common/caching_allocator.hpp"

namespace {

/// The adversarial scheduler must be chosen before the first CUDA call.
const struct Schedule {
  Schedule() {
    setenv("BRAID_VGPU_TOPOLOGY",
           BRAID_SOURCE_DIR "/config/topologies/a6000x8-bridged-amd-2socket.xml", 0);
    setenv("BRAID_VGPU_SEED", "11", 0);
    setenv("BRAID_VGPU_QUEUES", "32", 0);
  }
} kSchedule;

using examples::Buffer;
using examples::CachingAllocator;

class ExampleAllocator : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(side_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(compute_), cudaSuccess);
  }

  /// A side stream copies a block whose memory the compute stream uses again. True when the copy
  /// saw the later content.
  bool reads_later_content(CachingAllocator& allocator, unsigned char* pinned, bool join) {
    Buffer first(allocator, kBytes, compute_);
    void* address = first.data();
    EXPECT_EQ(cudaMemsetAsync(address, 1, kBytes, compute_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, compute_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(side_, event_, 0), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(pinned, address, kBytes, cudaMemcpyDeviceToHost, side_), cudaSuccess);
    if (join) {
      EXPECT_EQ(cudaEventRecord(event_, side_), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(compute_, event_, 0), cudaSuccess);
    }
    first.reset();
    const Buffer second(allocator, kBytes, compute_);
    EXPECT_EQ(second.data(), address);
    EXPECT_EQ(cudaMemsetAsync(second.data(), 2, kBytes, compute_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(compute_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(side_), cudaSuccess);
    return pinned[0] != 1;
  }

  int count_races(bool join) {
    CachingAllocator allocator;
    void* pinned = nullptr;
    EXPECT_EQ(cudaMallocHost(&pinned, kBytes), cudaSuccess);
    int races = 0;
    for (int round = 0; round < 200; ++round) {
      races += reads_later_content(allocator, static_cast<unsigned char*>(pinned), join) ? 1 : 0;
    }
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
    return races;
  }

  static constexpr size_t kBytes = 4096;
  cudaStream_t compute_ = nullptr;
  cudaStream_t side_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(ExampleAllocator, FreedBlocksAreReusedAtOnce) {
  CachingAllocator allocator;
  void* first = allocator.allocate(1000, compute_);
  allocator.free(first);
  EXPECT_EQ(allocator.allocate(900, compute_), first);
  EXPECT_EQ(allocator.reserved_bytes(), 1024U);
}

TEST_F(ExampleAllocator, PoolsBelongToStreams) {
  CachingAllocator allocator;
  void* first = allocator.allocate(1000, compute_);
  allocator.free(first);
  EXPECT_NE(allocator.allocate(1000, side_), first);
}

TEST_F(ExampleAllocator, LargeBlocksAreNotSpentOnSmallRequests) {
  CachingAllocator allocator;
  void* large = allocator.allocate(size_t{64} << 20, compute_);
  allocator.free(large);
  EXPECT_NE(allocator.allocate(512, compute_), large);
  EXPECT_EQ(allocator.allocate(size_t{40} << 20, compute_), large);
}

TEST_F(ExampleAllocator, JoinedStreamsNeverRace) { EXPECT_EQ(count_races(true), 0); }

TEST_F(ExampleAllocator, AForgottenJoinIsSeen) { EXPECT_GT(count_races(false), 0); }

}  // namespace
