// Driver-API callbacks.
#include <cupti.h>

#include <thread>

#include "core_test_support.hpp"

namespace braid::vgpu::testing {
namespace {

struct Seen {
  std::mutex mutex;
  std::vector<std::string> calls;  // "enter cuLaunchKernel"
  std::vector<std::string> symbols;
  std::vector<uint32_t> correlations;
  CUstream stream = nullptr;
  unsigned grid = 0;
  bool call_back = false;  // make a CUDA call inside the callback
  bool unsubscribe = false;
  CUpti_SubscriberHandle subscriber = nullptr;
};

void CUPTIAPI on_call(void* user_data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                      const void* raw) {
  auto* seen = static_cast<Seen*>(user_data);
  const auto* data = static_cast<const CUpti_CallbackData*>(raw);
  EXPECT_EQ(domain, CUPTI_CB_DOMAIN_DRIVER_API);
  const bool enter = data->callbackSite == CUPTI_API_ENTER;
  {
    const std::lock_guard lock(seen->mutex);
    seen->calls.push_back(std::string(enter ? "enter " : "exit ") + data->functionName);
    seen->symbols.push_back(data->symbolName != nullptr ? data->symbolName : "");
    seen->correlations.push_back(data->correlationId);
    if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
      const auto* parameters = static_cast<const cuLaunchKernel_params*>(data->functionParams);
      seen->stream = parameters->hStream;
      seen->grid = parameters->gridDimX;
    }
  }
  if (!enter) {
    EXPECT_EQ(*static_cast<CUresult*>(data->functionReturnValue), CUDA_SUCCESS);
  }
  if (seen->call_back && enter && id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
    CUevent event = nullptr;
    EXPECT_CUDA(cuEventCreate(&event, 0));
    EXPECT_CUDA(cuEventDestroy(event));
  }
  if (seen->unsubscribe && enter) {
    EXPECT_EQ(cuptiUnsubscribe(seen->subscriber), CUPTI_SUCCESS);
  }
}

class CuptiTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    kernel("test_store");
    ASSERT_EQ(cuptiSubscribe(&seen_.subscriber, on_call, &seen_), CUPTI_SUCCESS);
  }
  void TearDown() override {
    cuptiUnsubscribe(seen_.subscriber);
    DriverTest::TearDown();
  }
  void enable(CUpti_CallbackId id, uint32_t on = 1) {
    EXPECT_EQ(cuptiEnableCallback(on, seen_.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id),
              CUPTI_SUCCESS);
  }

  Seen seen_;
};

TEST_F(CuptiTest, SeesWhatIsEnabled) {
  const Buffer buffer(1);
  CUstream stream = make_stream();
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  ASSERT_CUDA(launch_store(stream, buffer.address(), 1));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(seen_.calls, (std::vector<std::string>{"enter cuLaunchKernel", "exit cuLaunchKernel"}));
  EXPECT_EQ(seen_.symbols[0], "test_store");
  EXPECT_EQ(seen_.correlations[0], seen_.correlations[1]);
  EXPECT_EQ(seen_.stream, stream);
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 0);
  enable(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
  ASSERT_CUDA(launch_store(stream, buffer.address(), 1));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(seen_.calls.back(), "exit cuStreamSynchronize");
  EXPECT_EQ(seen_.calls.size(), 4u);
  uint32_t state = 0;
  EXPECT_EQ(cuptiGetCallbackState(&state, seen_.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                  CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize),
            CUPTI_SUCCESS);
  EXPECT_EQ(state, 1u);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CuptiTest, SeesLaunchesMadeInsideLibraries) {
  CUstream stream = make_stream();
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  KernelShape shape;
  shape.name = "library_kernel";
  shape.grid[0] = 17;
  Work work;
  work.name = shape.name;
  work.step = [] { return Step::kDone; };
  ASSERT_CUDA(launch(stream, shape, std::move(work)));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  ASSERT_EQ(seen_.calls.size(), 2u);
  EXPECT_EQ(seen_.symbols[0], "library_kernel");
  EXPECT_EQ(seen_.grid, 17u);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CuptiTest, SeesTheDomain) {
  EXPECT_EQ(cuptiEnableDomain(1, seen_.subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
  CUdeviceptr p = 0;
  ASSERT_CUDA(cuMemAlloc(&p, 64));
  ASSERT_CUDA(cuMemFree(p));
  EXPECT_EQ(cuptiEnableDomain(0, seen_.subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
  EXPECT_EQ(seen_.calls, (std::vector<std::string>{"enter cuMemAlloc_v2", "exit cuMemAlloc_v2",
                                                   "enter cuMemFree_v2", "exit cuMemFree_v2"}));
  EXPECT_EQ(cuptiEnableDomain(1, seen_.subscriber, CUPTI_CB_DOMAIN_NVTX),
            CUPTI_ERROR_NOT_SUPPORTED);
}

TEST_F(CuptiTest, CallsInsideACallbackAreSeenToo) {
  const Buffer buffer(1);
  seen_.call_back = true;
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  enable(CUPTI_DRIVER_TRACE_CBID_cuEventCreate);
  ASSERT_CUDA(launch_store(nullptr, buffer.address(), 1));
  enable(CUPTI_DRIVER_TRACE_CBID_cuEventCreate, 0);
  EXPECT_EQ(seen_.calls, (std::vector<std::string>{"enter cuLaunchKernel", "enter cuEventCreate",
                                                   "exit cuEventCreate", "exit cuLaunchKernel"}));
}

TEST_F(CuptiTest, ACallbackMayUnsubscribe) {
  seen_.unsubscribe = true;
  enable(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
  ASSERT_CUDA(cuCtxSynchronize());
  EXPECT_EQ(seen_.calls, (std::vector<std::string>{"enter cuCtxSynchronize"}));
  EXPECT_EQ(cuptiUnsubscribe(seen_.subscriber), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(CuptiTest, ThereIsOneSubscriber) {
  CUpti_SubscriberHandle second = nullptr;
  EXPECT_EQ(cuptiSubscribe(&second, on_call, nullptr),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&second, on_call, &seen_), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiEnableCallback(1, seen_.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiUnsubscribe(second), CUPTI_SUCCESS);
}

TEST_F(CuptiTest, ManyThreadsWhileSubscribersComeAndGo) {
  ASSERT_EQ(cuptiUnsubscribe(seen_.subscriber), CUPTI_SUCCESS);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        int count = 0;
        cuDeviceGetCount(&count);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    auto seen = std::make_unique<Seen>();  // must not be used after the unsubscription
    ASSERT_EQ(cuptiSubscribe(&seen->subscriber, on_call, seen.get()), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiEnableDomain(1, seen->subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    std::this_thread::yield();
    ASSERT_EQ(cuptiUnsubscribe(seen->subscriber), CUPTI_SUCCESS);
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_F(CuptiTest, NamesAndMissingFunctions) {
  const char* text = nullptr;
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                                 &text),
            CUPTI_SUCCESS);
  EXPECT_STREQ(text, "cuMemAlloc_v2");
  EXPECT_EQ(cuptiGetResultString(CUPTI_ERROR_NOT_SUPPORTED, &text), CUPTI_SUCCESS);
  EXPECT_STREQ(text, "CUPTI_ERROR_NOT_SUPPORTED");
  uint32_t version = 0;
  EXPECT_EQ(cuptiGetVersion(&version), CUPTI_SUCCESS);
  EXPECT_EQ(version, static_cast<uint32_t>(CUPTI_API_VERSION));
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace braid::vgpu::testing
