// Events, and values in memory that streams wait for.
#include "core_test_support.hpp"

namespace braid::vgpu::testing {
namespace {

class EventTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_CUDA(cuEventCreate(&event_, CU_EVENT_DEFAULT));
    a_ = make_stream();
    b_ = make_stream();
  }
  void TearDown() override {
    if (event_ != nullptr) {
      EXPECT_CUDA(cuEventDestroy(event_));
    }
    EXPECT_CUDA(cuStreamDestroy(a_));
    EXPECT_CUDA(cuStreamDestroy(b_));
    DriverTest::TearDown();
  }

  CUevent event_ = nullptr;
  CUstream a_ = nullptr, b_ = nullptr;
};

TEST_F(EventTest, NeverRecordedIsDone) {
  EXPECT_CUDA(cuEventQuery(event_));
  EXPECT_CUDA(cuEventSynchronize(event_));
  EXPECT_CUDA(cuStreamWaitEvent(a_, event_, 0));
  EXPECT_CUDA(cuStreamSynchronize(a_));
}

TEST_F(EventTest, OrdersStreams) {
  const Buffer buffer(2);
  Latch latch;
  ASSERT_CUDA(latch.hold(a_));
  ASSERT_CUDA(launch_store(a_, buffer.at(0), 11));
  ASSERT_CUDA(cuEventRecord(event_, a_));
  ASSERT_CUDA(cuStreamWaitEvent(b_, event_, 0));
  ASSERT_CUDA(launch_add(b_, buffer.at(1), buffer.at(0), 1));
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(b_));
  EXPECT_EQ(buffer.read()[1], 12);
}

TEST_F(EventTest, AWaitKeepsTheRecordingOfItsTime) {
  const Buffer buffer(1);
  Latch second;
  ASSERT_CUDA(cuEventRecord(event_, a_));
  ASSERT_CUDA(cuStreamWaitEvent(b_, event_, 0));
  ASSERT_CUDA(second.hold(a_));
  ASSERT_CUDA(cuEventRecord(event_, a_));  // again, held back
  ASSERT_CUDA(launch_store(b_, buffer.at(0), 1));
  ASSERT_CUDA(cuStreamSynchronize(b_));  // would hang if it waited for the second recording
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  second.open();
  ASSERT_CUDA(cuEventSynchronize(event_));
}

TEST_F(EventTest, MayBeDestroyedWhileWaitedFor) {
  const Buffer buffer(2);
  Latch latch;
  ASSERT_CUDA(latch.hold(a_));
  ASSERT_CUDA(launch_store(a_, buffer.at(0), 2));
  ASSERT_CUDA(cuEventRecord(event_, a_));
  ASSERT_CUDA(cuStreamWaitEvent(b_, event_, 0));
  ASSERT_CUDA(cuEventDestroy(event_));
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_INVALID_HANDLE);
  event_ = nullptr;
  ASSERT_CUDA(launch_add(b_, buffer.at(1), buffer.at(0), 0));
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(b_));
  EXPECT_EQ(buffer.read()[1], 2);
}

TEST_F(EventTest, ElapsedTimeHasItsRules) {
  CUevent end = nullptr, untimed = nullptr;
  ASSERT_CUDA(cuEventCreate(&end, CU_EVENT_DEFAULT));
  ASSERT_CUDA(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, end), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_CUDA(cuEventRecord(event_, a_));
  Latch latch;
  ASSERT_CUDA(latch.hold(a_));
  ASSERT_CUDA(cuEventRecord(end, a_));
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, end), CUDA_ERROR_NOT_READY);
  latch.open();
  ASSERT_CUDA(cuEventSynchronize(end));
  EXPECT_CUDA(cuEventElapsedTime(&milliseconds, event_, end));
  EXPECT_GE(milliseconds, 0);
  ASSERT_CUDA(cuEventRecord(untimed, a_));
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CUDA(cuEventDestroy(end));
  EXPECT_CUDA(cuEventDestroy(untimed));
}

TEST_F(EventTest, OrdersDevices) {
  const Buffer buffer(1);
  CUcontext other = nullptr;
  ASSERT_CUDA(cuDevicePrimaryCtxRetain(&other, 1));
  Latch latch;
  ASSERT_CUDA(latch.hold(a_));
  ASSERT_CUDA(launch_store(a_, buffer.at(0), 21));
  ASSERT_CUDA(cuEventRecord(event_, a_));
  ASSERT_CUDA(cuCtxPushCurrent(other));
  {
    const Buffer copy(1);
    CUstream remote = make_stream();
    EXPECT_EQ(cuEventRecord(event_, remote), CUDA_ERROR_INVALID_HANDLE);  // another context
    ASSERT_CUDA(cuStreamWaitEvent(remote, event_, 0));
    ASSERT_CUDA(cuMemcpyAsync(copy.address(), buffer.address(), sizeof(int), remote));
    latch.open();
    ASSERT_CUDA(cuStreamSynchronize(remote));
    EXPECT_EQ(copy.read()[0], 21);
    EXPECT_CUDA(cuStreamDestroy(remote));
  }
  ASSERT_CUDA(cuCtxPopCurrent(nullptr));
  EXPECT_CUDA(cuDevicePrimaryCtxRelease(1));
}

TEST_F(EventTest, StreamsWaitForAndWriteValues) {
  const Buffer buffer(4);
  ASSERT_CUDA(cuStreamWaitValue32(a_, buffer.at(0), 5, CU_STREAM_WAIT_VALUE_GEQ));
  ASSERT_CUDA(launch_add(a_, buffer.at(1), buffer.at(0), 0));
  ASSERT_CUDA(cuStreamWriteValue32(b_, buffer.at(0), 4, 0));
  ASSERT_CUDA(cuStreamSynchronize(b_));
  EXPECT_EQ(cuStreamQuery(a_), CUDA_ERROR_NOT_READY);
  ASSERT_CUDA(cuStreamWriteValue32(b_, buffer.at(0), 6, 0));
  ASSERT_CUDA(cuStreamSynchronize(a_));
  EXPECT_EQ(buffer.read()[1], 6);
}

TEST_F(EventTest, WaitConditions) {
  struct Case {
    cuuint32_t memory, value;
    unsigned flags;
    bool met;
  };
  const Case cases[] = {
      {5, 5, CU_STREAM_WAIT_VALUE_GEQ, true},
      {4, 5, CU_STREAM_WAIT_VALUE_GEQ, false},
      {2, 0xfffffffeu, CU_STREAM_WAIT_VALUE_GEQ, true},  // counters may wrap
      {5, 5, CU_STREAM_WAIT_VALUE_EQ, true},
      {6, 5, CU_STREAM_WAIT_VALUE_EQ, false},
      {6, 2, CU_STREAM_WAIT_VALUE_AND, true},
      {4, 2, CU_STREAM_WAIT_VALUE_AND, false},
      {0xffffff00u, 0x0fu, CU_STREAM_WAIT_VALUE_NOR, true},
      {0xffffff00u, 0xffu, CU_STREAM_WAIT_VALUE_NOR, false},
  };
  const Buffer buffer(1);
  for (const Case& c : cases) {
    ASSERT_CUDA(cuMemsetD32(buffer.address(), c.memory, 1));
    ASSERT_CUDA(cuCtxSynchronize());
    ASSERT_CUDA(cuStreamWaitValue32(a_, buffer.address(), c.value, c.flags));
    if (c.met) {
      EXPECT_CUDA(cuStreamSynchronize(a_)) << c.memory << " " << c.flags;
    } else {
      usleep(2000);
      EXPECT_EQ(cuStreamQuery(a_), CUDA_ERROR_NOT_READY) << c.memory << " " << c.flags;
      const cuuint32_t meets = c.flags == CU_STREAM_WAIT_VALUE_NOR ? 0 : c.value;
      ASSERT_CUDA(cuStreamWriteValue32(b_, buffer.address(), meets, 0));
      EXPECT_CUDA(cuStreamSynchronize(a_));
    }
  }
}

TEST_F(EventTest, BatchesOfValueOperations) {
  const Buffer buffer(4);
  CUstreamBatchMemOpParams operations[3] = {};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = buffer.at(0);
  operations[0].writeValue.value = 3;
  operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = buffer.at(0);
  operations[1].waitValue.value = 3;
  operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  operations[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  operations[2].writeValue.address = buffer.at(2);
  operations[2].writeValue.value64 = 0x100000002ull;
  ASSERT_CUDA(cuStreamBatchMemOp(a_, 3, operations, 0));
  ASSERT_CUDA(cuStreamSynchronize(a_));
  EXPECT_EQ(buffer.read(), (std::vector<int>{3, 0, 2, 1}));
}

TEST_F(EventTest, BadValueAddresses) {
  const Buffer buffer(2);
  int on_host = 0;
  EXPECT_EQ(cuStreamWaitValue32(a_, buffer.address() + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue64(a_, buffer.at(1), 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(a_, reinterpret_cast<CUdeviceptr>(&on_host), 0, 0),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace braid::vgpu::testing
