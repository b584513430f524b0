// Order of work: within a stream, with the legacy default stream, by priority.
#include <thread>

#include "core_test_support.hpp"
#include "vgpu/core/context.hpp"

namespace braid::vgpu::testing {
namespace {

class StreamTest : public DriverTest {};

TEST_F(StreamTest, WorkOfAStreamRunsInOrder) {
  const Buffer buffer(2);
  CUstream stream = make_stream();
  for (int i = 0; i < 200; ++i) {
    ASSERT_CUDA(launch_add(stream, buffer.at(0), buffer.at(0), 1));
    ASSERT_CUDA(launch_add(stream, buffer.at(1), buffer.at(0), 0));
  }
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(buffer.read(), (std::vector<int>{200, 200}));
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(StreamTest, LegacyStreamWaitsForBlockingStreams) {
  const Buffer buffer(2);
  CUstream stream = make_stream(CU_STREAM_DEFAULT);
  Latch latch;
  ASSERT_CUDA(latch.hold(stream));
  ASSERT_CUDA(launch_store(stream, buffer.at(0), 7));
  ASSERT_CUDA(launch_add(nullptr, buffer.at(1), buffer.at(0), 1));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(nullptr));
  EXPECT_EQ(buffer.read(), (std::vector<int>{7, 8}));
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(StreamTest, BlockingStreamsWaitForTheLegacyStream) {
  const Buffer buffer(2);
  CUstream stream = make_stream(CU_STREAM_DEFAULT);
  Latch latch;
  ASSERT_CUDA(latch.hold(nullptr));
  ASSERT_CUDA(launch_store(nullptr, buffer.at(0), 3));
  ASSERT_CUDA(launch_add(stream, buffer.at(1), buffer.at(0), 1));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(buffer.read(), (std::vector<int>{3, 4}));
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(StreamTest, NonBlockingStreamsIgnoreTheLegacyStream) {
  const Buffer buffer(1);
  CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
  Latch latch;
  ASSERT_CUDA(latch.hold(nullptr));
  ASSERT_CUDA(launch_store(stream, buffer.at(0), 5));
  ASSERT_CUDA(cuStreamSynchronize(stream));  // would hang if it waited
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  latch.open();
  EXPECT_EQ(buffer.read()[0], 5);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(StreamTest, ThreadsHaveDefaultStreamsOfTheirOwn) {
  const Buffer buffer(1);
  Latch latch;
  ASSERT_CUDA(latch.hold(CU_STREAM_PER_THREAD));
  std::thread([&] {
    EXPECT_CUDA(cuCtxSetCurrent(context_));
    EXPECT_CUDA(launch_store(CU_STREAM_PER_THREAD, buffer.at(0), 9));
    EXPECT_CUDA(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  }).join();
  EXPECT_EQ(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(StreamTest, UrgentStreamsStartFirst) {
  const Buffer log(8);
  int least = 0, greatest = 0;
  ASSERT_CUDA(cuCtxGetStreamPriorityRange(&least, &greatest));
  ASSERT_LT(greatest, least);
  CUstream low = make_stream(CU_STREAM_NON_BLOCKING, least);
  CUstream high = make_stream(CU_STREAM_NON_BLOCKING, greatest);
  CUstream gate = make_stream();
  CUevent open = nullptr;
  ASSERT_CUDA(cuEventCreate(&open, CU_EVENT_DISABLE_TIMING));
  Latch latch;
  ASSERT_CUDA(latch.hold(gate));
  ASSERT_CUDA(cuEventRecord(open, gate));
  // Both become ready at the same instant; the older one is the less urgent.
  ASSERT_CUDA(cuStreamWaitEvent(low, open, 0));
  ASSERT_CUDA(cuStreamWaitEvent(high, open, 0));
  ASSERT_CUDA(launch_log(low, log.address(), 1));
  ASSERT_CUDA(launch_log(high, log.address(), 2));
  latch.open();
  ASSERT_CUDA(cuCtxSynchronize());
  EXPECT_EQ(log.read()[1], 2);
  EXPECT_EQ(log.read()[2], 1);
  int priority = 1;
  EXPECT_CUDA(cuStreamGetPriority(high, &priority));
  EXPECT_EQ(priority, greatest);
  EXPECT_CUDA(cuEventDestroy(open));
  for (CUstream stream : {low, high, gate}) {
    EXPECT_CUDA(cuStreamDestroy(stream));
  }
}

TEST_F(StreamTest, DestroyedStreamsFinishTheirWork) {
  const Buffer buffer(1);
  CUstream stream = make_stream();
  Latch latch;
  ASSERT_CUDA(latch.hold(stream));
  ASSERT_CUDA(launch_store(stream, buffer.at(0), 4));
  ASSERT_CUDA(cuStreamDestroy(stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  latch.open();
  ASSERT_CUDA(cuCtxSynchronize());
  EXPECT_EQ(buffer.read()[0], 4);
}

TEST_F(StreamTest, HostFunctionsRunInOrderAndMayNotCallCuda) {
  struct Seen {
    const Buffer* buffer;
    int value = 0;
    CUresult call = CUDA_SUCCESS;
  };
  const Buffer buffer(1);
  Seen seen{&buffer};
  CUstream stream = make_stream();
  ASSERT_CUDA(launch_store(stream, buffer.at(0), 6));
  ASSERT_CUDA(cuLaunchHostFunc(
      stream,
      [](void* data) {
        auto* out = static_cast<Seen*>(data);
        out->value = *reinterpret_cast<int*>(out->buffer->address());
        out->call = cuCtxSynchronize();
      },
      &seen));
  ASSERT_CUDA(launch_store(stream, buffer.at(0), 0));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(seen.value, 6);
  EXPECT_EQ(seen.call, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(StreamTest, ABlockedHostFunctionDoesNotStopTheDevice) {
  const Buffer buffer(1);
  CUstream blocked = make_stream();
  CUstream other = make_stream();
  std::atomic<bool> release{false};
  ASSERT_CUDA(cuLaunchHostFunc(
      blocked,
      [](void* data) {
        auto* flag = static_cast<std::atomic<bool>*>(data);
        while (!flag->load()) {
          usleep(100);
        }
      },
      &release));
  ASSERT_CUDA(launch_store(other, buffer.at(0), 2));
  ASSERT_CUDA(cuStreamSynchronize(other));
  EXPECT_EQ(cuStreamQuery(blocked), CUDA_ERROR_NOT_READY);
  release = true;
  ASSERT_CUDA(cuStreamSynchronize(blocked));
  EXPECT_CUDA(cuStreamDestroy(blocked));
  EXPECT_CUDA(cuStreamDestroy(other));
}

TEST_F(StreamTest, CaptureIsRefusedByName) {
  CUstream stream = make_stream();
  EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_NOT_SUPPORTED);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_CUDA(cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(StreamTest, LaunchesWithoutAHostKernelFail) {
  EXPECT_EQ(cuLaunchKernel(find_function("no_such_kernel"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                           nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLaunchKernel(kernel("test_store"), 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(0x1234), 1, 1, 1, 1, 1, 1, 0, nullptr,
                           nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, SixtyFourThreadsShareADevice) {
  const Buffer buffer(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_CUDA(cuCtxSetCurrent(context_));
      CUstream stream = make_stream(t % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
      for (int i = 0; i < 20; ++i) {
        EXPECT_CUDA(launch_add(stream, buffer.at(static_cast<size_t>(t)),
                               buffer.at(static_cast<size_t>(t)), t));
        CUdeviceptr scratch = 0;
        EXPECT_CUDA(cuMemAllocAsync(&scratch, 4096, stream));
        EXPECT_CUDA(cuMemsetD8Async(scratch, 1, 4096, stream));
        EXPECT_CUDA(cuMemFreeAsync(scratch, stream));
      }
      EXPECT_CUDA(cuStreamSynchronize(stream));
      EXPECT_CUDA(cuStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::vector<int> result = buffer.read();
  for (int t = 0; t < 64; ++t) {
    EXPECT_EQ(result[static_cast<size_t>(t)], 20 * t);
  }
}

}  // namespace
}  // namespace braid::vgpu::testing
