// Memory: errors by CUDA's own codes, copies, stream-ordered allocation, peers.
#include <numeric>

#include "core_test_support.hpp"

namespace braid::vgpu::testing {
namespace {

class MemoryTest : public DriverTest {};

TEST_F(MemoryTest, RunsOutAndRecovers) {
  size_t free = 0, total = 0;
  ASSERT_CUDA(cuMemGetInfo(&free, &total));
  EXPECT_EQ(total, 64u << 20);
  CUdeviceptr all = 0, more = 0;
  EXPECT_EQ(cuMemAlloc(&all, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_CUDA(cuMemAlloc(&all, free));
  EXPECT_EQ(cuMemAlloc(&more, 512), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_CUDA(cuMemFree(all));
  ASSERT_CUDA(cuMemAlloc(&more, 512));
  EXPECT_EQ(more, all);  // freed memory is used again at once
  ASSERT_CUDA(cuMemFree(more));
  size_t after = 0;
  ASSERT_CUDA(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, free);
}

TEST_F(MemoryTest, BadPointersAreRefused) {
  CUdeviceptr p = 0;
  int on_host = 0;
  EXPECT_EQ(cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(cuMemAlloc(&p, 1000));
  EXPECT_EQ(p % 512, 0u);
  EXPECT_EQ(cuMemFree(p + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(reinterpret_cast<CUdeviceptr>(&on_host)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(p + 998, &on_host, 4), CUDA_ERROR_INVALID_VALUE);  // past the end
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(p), 1000), CUDA_SUCCESS);
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(p), 1001), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(check_access(0, &on_host, 4), CUDA_ERROR_ILLEGAL_ADDRESS);  // pageable
  EXPECT_EQ(check_access(0, &on_host, 0), CUDA_SUCCESS);
  ASSERT_CUDA(cuMemFree(p));
  EXPECT_EQ(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(p, &on_host, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(p), 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_CUDA(cuMemFree(0));
}

TEST_F(MemoryTest, AReusedAddressHasANewId) {
  CUdeviceptr p = 0, q = 0;
  ASSERT_CUDA(cuMemAlloc(&p, 4096));
  const auto before = find_allocation(p + 4095);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->base, p);
  EXPECT_FALSE(find_allocation(p + 4096));
  ASSERT_CUDA(cuMemFree(p));
  EXPECT_FALSE(find_allocation(p));
  ASSERT_CUDA(cuMemAlloc(&q, 4096));
  ASSERT_EQ(p, q);
  EXPECT_GT(find_allocation(q)->id, before->id);
  ASSERT_CUDA(cuMemFree(q));
}

TEST_F(MemoryTest, PeersNeedPermission) {
  CUcontext other = nullptr;
  ASSERT_CUDA(cuDevicePrimaryCtxRetain(&other, 1));
  CUdeviceptr mine = 0, theirs = 0;
  ASSERT_CUDA(cuMemAlloc(&mine, 64));
  ASSERT_CUDA(cuCtxPushCurrent(other));
  ASSERT_CUDA(cuMemAlloc(&theirs, 64));
  ASSERT_CUDA(cuCtxPopCurrent(nullptr));
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(theirs), 64), CUDA_ERROR_ILLEGAL_ADDRESS);
  int can = 0;
  EXPECT_CUDA(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_CUDA(cuDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  ASSERT_CUDA(cuCtxEnablePeerAccess(other, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(theirs), 64), CUDA_SUCCESS);
  EXPECT_EQ(check_access(1, reinterpret_cast<void*>(mine), 64), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_CUDA(cuCtxDisablePeerAccess(other));
  EXPECT_EQ(cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_CUDA(cuMemcpyPeer(theirs, other, mine, context_, 64));  // needs no permission
  ASSERT_CUDA(cuMemFree(mine));
  ASSERT_CUDA(cuMemFree(theirs));
  ASSERT_CUDA(cuDevicePrimaryCtxRelease(1));
}

TEST_F(MemoryTest, PageableSourcesAreTakenAtTheCall) {
  const Buffer buffer(4);
  CUstream stream = make_stream();
  Latch latch;
  ASSERT_CUDA(latch.hold(stream));
  std::vector<int> source = {1, 2, 3, 4};
  ASSERT_CUDA(cuMemcpyHtoDAsync(buffer.address(), source.data(), 16, stream));
  source.assign(4, -1);
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(buffer.read(), (std::vector<int>{1, 2, 3, 4}));
  std::vector<int> back(4);
  ASSERT_CUDA(cuMemcpyDtoHAsync(back.data(), buffer.address(), 16, stream));
  EXPECT_EQ(back, (std::vector<int>{1, 2, 3, 4}));  // complete when the call returns
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(MemoryTest, PinnedSourcesAreReadWhenTheCopyRuns) {
  const Buffer buffer(1);
  CUstream stream = make_stream();
  void* memory = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&memory, 4, 0));
  auto* pinned = static_cast<int*>(memory);
  *pinned = 1;
  Latch latch;
  ASSERT_CUDA(latch.hold(stream));
  ASSERT_CUDA(cuMemcpyHtoDAsync(buffer.address(), pinned, 4, stream));
  *pinned = 2;
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(buffer.read()[0], 2);
  ASSERT_CUDA(cuMemFreeHost(pinned));
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(MemoryTest, TwoDimensionalCopiesAndFills) {
  CUdeviceptr device = 0;
  size_t pitch = 0;
  ASSERT_CUDA(cuMemAllocPitch(&device, &pitch, 12, 3, 4));
  ASSERT_GE(pitch, 12u);
  ASSERT_CUDA(cuMemsetD2D32(device, pitch, 7, 3, 3));
  std::vector<int> source = {1, 2, 3, 4, 5, 6};
  CUDA_MEMCPY2D request{};
  request.srcMemoryType = CU_MEMORYTYPE_HOST;
  request.srcHost = source.data();
  request.srcPitch = 12;
  request.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  request.dstDevice = device;
  request.dstPitch = pitch;
  request.dstXInBytes = 4;
  request.dstY = 1;
  request.WidthInBytes = 8;
  request.Height = 2;
  ASSERT_CUDA(cuMemcpy2D(&request));
  std::vector<int> result(9);
  CUDA_MEMCPY2D back{};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = device;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = result.data();
  back.dstPitch = 12;
  back.WidthInBytes = 12;
  back.Height = 3;
  ASSERT_CUDA(cuMemcpy2D(&back));
  EXPECT_EQ(result, (std::vector<int>{7, 7, 7, 7, 1, 2, 7, 4, 5}));
  ASSERT_CUDA(cuMemsetD16(device, 0x1234, 4));
  EXPECT_EQ(cuMemsetD16(device + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(cuMemcpyDtoH(result.data(), device, 8));
  EXPECT_EQ(result[0], 0x12341234);
  ASSERT_CUDA(cuMemFree(device));
}

TEST_F(MemoryTest, StreamOrderedFreesAreReusedInOrder) {
  CUstream stream = make_stream();
  CUstream other = make_stream();
  Latch latch;
  CUdeviceptr first = 0, second = 0, third = 0;
  ASSERT_CUDA(latch.hold(stream));
  ASSERT_CUDA(cuMemAllocAsync(&first, 4096, stream));
  ASSERT_CUDA(launch_store(stream, first, 1));
  ASSERT_CUDA(cuMemFreeAsync(first, stream));
  EXPECT_EQ(cuMemFreeAsync(first, stream), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(cuMemAllocAsync(&third, 4096, other));
  EXPECT_NE(first, third);  // the free has not been carried out
  ASSERT_CUDA(cuMemAllocAsync(&second, 4096, stream));
  EXPECT_EQ(first, second);  // the same stream may have it
  ASSERT_CUDA(launch_store(stream, second, 2));
  latch.open();
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(*reinterpret_cast<int*>(second), 2);
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(second), 4096), CUDA_SUCCESS);
  ASSERT_CUDA(cuMemFreeAsync(second, stream));
  ASSERT_CUDA(cuMemFreeAsync(third, other));
  ASSERT_CUDA(cuCtxSynchronize());
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(second), 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_CUDA(cuStreamDestroy(stream));
  EXPECT_CUDA(cuStreamDestroy(other));
}

TEST_F(MemoryTest, PoolsKeepMemoryUpToTheirThreshold) {
  CUmemoryPool pool = nullptr;
  ASSERT_CUDA(cuDeviceGetDefaultMemPool(&pool, 0));
  cuuint64_t threshold = 1 << 20, reserved = 0, used = 0;
  ASSERT_CUDA(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  CUstream stream = make_stream();
  CUdeviceptr p = 0;
  ASSERT_CUDA(cuMemAllocAsync(&p, 1 << 20, stream));
  ASSERT_CUDA(cuMemFreeAsync(p, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  ASSERT_CUDA(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
  ASSERT_CUDA(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(reserved, 1u << 20);
  EXPECT_EQ(used, 0u);
  // Kept, but nobody's: using it is an error.
  EXPECT_EQ(check_access(0, reinterpret_cast<void*>(p), 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_CUDA(cuMemPoolTrimTo(pool, 0));
  ASSERT_CUDA(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
  EXPECT_EQ(reserved, 0u);
  threshold = 0;
  ASSERT_CUDA(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(MemoryTest, PointersTellWhatTheyAre) {
  const Buffer buffer(16);
  void* pinned = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  unsigned type = 0;
  int ordinal = -1;
  CUdeviceptr start = 0;
  EXPECT_CUDA(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer.at(3)));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_CUDA(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, buffer.at(3)));
  EXPECT_EQ(start, buffer.address());
  EXPECT_CUDA(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  int on_host = 0;
  const auto host = reinterpret_cast<CUdeviceptr>(&on_host);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host),
            CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* data[] = {&type, &ordinal};
  EXPECT_CUDA(cuPointerGetAttributes(2, attributes, data, host));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
  EXPECT_CUDA(cuMemFreeHost(pinned));
}

TEST_F(MemoryTest, HostMemoryCanBeRegistered) {
  std::vector<int> memory(1024);
  ASSERT_CUDA(cuMemHostRegister(memory.data(), 4096, 0));
  EXPECT_EQ(cuMemHostRegister(memory.data() + 1, 8, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(check_access(0, memory.data(), 4096), CUDA_SUCCESS);
  ASSERT_CUDA(launch_store(nullptr, reinterpret_cast<CUdeviceptr>(memory.data()), 3));
  ASSERT_CUDA(cuCtxSynchronize());
  EXPECT_EQ(memory[0], 3);
  ASSERT_CUDA(cuMemHostUnregister(memory.data()));
  EXPECT_EQ(cuMemHostUnregister(memory.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(MemoryTest, ManagedMemoryIsEverybodys) {
  CUdeviceptr p = 0;
  ASSERT_CUDA(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
  *reinterpret_cast<int*>(p) = 5;
  EXPECT_EQ(check_access(3, reinterpret_cast<void*>(p), 4096), CUDA_SUCCESS);
  ASSERT_CUDA(launch_add(nullptr, p, p, 1));
  ASSERT_CUDA(cuCtxSynchronize());
  EXPECT_EQ(*reinterpret_cast<int*>(p), 6);
  ASSERT_CUDA(cuMemFree(p));
}

TEST_F(MemoryTest, AContextTakesItsMemoryAlong) {
  CUcontext context = nullptr;
  ASSERT_CUDA(cuCtxCreate(&context, nullptr, 0, 2));
  CUdeviceptr p = 0;
  ASSERT_CUDA(cuMemAlloc(&p, 64));
  ASSERT_CUDA(cuCtxDestroy(context));
  EXPECT_FALSE(find_allocation(p));
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_CUDA(cuCtxSetCurrent(context_));
}

TEST_F(MemoryTest, SharedRegionsAreZeroedAndNamed) {
  const auto a = shared_region("test/one", 100);
  const auto b = shared_region("test/one", 100);
  const auto c = shared_region("test_one", 100);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*a, *c);
  EXPECT_EQ(*static_cast<int*>(*a), 0);
}

}  // namespace
}  // namespace braid::vgpu::testing
