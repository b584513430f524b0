#include <cupti.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>

#include "config/diagnostics.hpp"
#include "interposer/driver_api.hpp"
#include "interposer/hooks/coverage.hpp"
#include "interposer/hooks/driver_call.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"
#include "interposer/recorder.hpp"
#include "interposer/settings.hpp"
#include "interposer/stream_ledger.hpp"

namespace braid::interposer {
namespace {

enum class Coverage { kNotStarted, kComplete, kObserving, kOff };

std::atomic<Coverage> g_coverage{Coverage::kNotStarted};
std::mutex g_mutex;
CUpti_SubscriberHandle g_subscriber = nullptr;

struct CuptiApi {
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiEnableCallback) enable_callback;
  decltype(&cuptiGetVersion) get_version;
};

const CuptiApi* cupti_api() {
  static CuptiApi api{};
  static const bool complete = [] {
    const auto bind = [](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          load_real_symbol(Library::kCupti, name));
      return function != nullptr;
    };
    return bind(api.subscribe, "cuptiSubscribe") && bind(api.unsubscribe, "cuptiUnsubscribe") &&
           bind(api.enable_callback, "cuptiEnableCallback") &&
           bind(api.get_version, "cuptiGetVersion");
  }();
  return complete ? &api : nullptr;
}

bool is_nccl_kernel(const char* name) {
  return name != nullptr &&
         (std::strncmp(name, "ncclDev", 7) == 0 || std::strncmp(name, "ncclKernel", 10) == 0 ||
          std::strncmp(name, "ncclSym", 7) == 0);
}

void observe_call(const DriverCall& call) {
  switch (call.kind) {
    case DriverCallKind::kOtherWork:
      return observe_other_work(call.stream);
    case DriverCallKind::kUnknownWork:
      return observe_unknown_work();
    case DriverCallKind::kKernel:
      // NCCL launches from threads of its own as well; the collective is already in the trace.
      return is_nccl_kernel(call.shape.name) ? observe_other_work(call.stream)
                                             : observe_kernel(call.stream, call.shape);
    case DriverCallKind::kCopy:
      return observe_copy(call.stream, call.bytes, call.copy, call.asynchronous);
    case DriverCallKind::kHostFunction:
      return observe_host_function(call.stream);
    case DriverCallKind::kEventRecord:
      return observe_event_record(call.event, call.stream);
    case DriverCallKind::kWait:
      return observe_wait(call.stream, call.event);
    case DriverCallKind::kWaitValue:
      return observe_wait_value(call.stream, call.address, call.value, call.flags,
                                static_cast<unsigned>(call.bytes));
    case DriverCallKind::kWriteValue:
      return observe_write_value(call.stream, call.address, call.value,
                                 static_cast<unsigned>(call.bytes));
    case DriverCallKind::kSynchronizeStream:
      return observe_host_wait_stream(call.stream);
    case DriverCallKind::kSynchronizeEvent:
      return observe_host_wait_event(call.event);
    case DriverCallKind::kSynchronizeDevice:
      return observe_host_wait_device();
    case DriverCallKind::kStreamDestroyed:
      return observe_stream_destroyed(call.stream);
    case DriverCallKind::kEventDestroyed:
      return observe_event_destroyed(call.event);
  }
}

void observe_driver_call(CUpti_CallbackId id, const void* data) {
  const auto* info = static_cast<const CUpti_CallbackData*>(data);
  DriverCall call;
  if (!read_driver_call(id, info->functionParams, &call)) {
    return;
  }
  if (info->callbackSite == CUPTI_API_ENTER) {
    if (call.kind == DriverCallKind::kWait) {
      StreamLedger::instance().prepare_wait(call.stream, call.event);
    } else if (call.kind == DriverCallKind::kStreamDestroyed) {
      observe_call(call);  // the handle may be given out again before the call returns
    } else if (call.kind == DriverCallKind::kEventDestroyed) {
      observe_call(call);
    }
    return;
  }
  const bool destroyed =
      call.kind == DriverCallKind::kStreamDestroyed || call.kind == DriverCallKind::kEventDestroyed;
  // Also a failed call counts as work: the careful assumption.
  if (!destroyed) {
    call.shape.name = info->symbolName;
    observe_call(call);
  }
}

void CUPTIAPI on_driver_call(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void* data) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || !should_intercept()) {
    return;
  }
  try {
    observe_driver_call(id, data);
  } catch (...) {
    observe_unknown_work();  // no memory to note it by: it may have been anything
  }
}

const char* subscribe(const CuptiApi& api) {
  RealCallGuard guard;
  uint32_t cupti_version = 0;
  int driver_version = 0;
  if (driver_api() == nullptr || api.get_version(&cupti_version) != CUPTI_SUCCESS ||
      driver_api()->driver_get_version(&driver_version) != CUDA_SUCCESS) {
    return "the versions of CUPTI and the driver cannot be read";
  }
  const CUptiResult result =
      api.subscribe(&g_subscriber, reinterpret_cast<CUpti_CallbackFunc>(on_driver_call), nullptr);
  if (result != CUPTI_SUCCESS) {
    g_subscriber = nullptr;
    return "CUPTI refuses a subscriber (another profiler is at work, or it is not permitted)";
  }
  for (size_t i = 0; i < kListenedCallbackCount; ++i) {
    // An id this CUPTI does not know belongs to a newer header than the library.
    api.enable_callback(1, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kListenedCallbacks[i]);
  }
  // Both count thousands by major version, CUPTI with two digits more. A newer driver may have ways
  // to enqueue work that this CUPTI cannot show.
  const bool newer_driver = driver_version / 10 > static_cast<int>(cupti_version / 100);
  g_coverage.store(newer_driver ? Coverage::kObserving : Coverage::kComplete);
  return newer_driver ? "the driver is newer than CUPTI" : nullptr;
}

}  // namespace

bool is_coverage_complete() {
  return g_coverage.load(std::memory_order_acquire) == Coverage::kComplete;
}

bool is_cupti_observing() {
  const Coverage coverage = g_coverage.load(std::memory_order_acquire);
  return coverage == Coverage::kComplete || coverage == Coverage::kObserving;
}

void start_coverage() {
  if (g_coverage.load(std::memory_order_acquire) != Coverage::kNotStarted ||
      (!may_rewrite() && !Recorder::instance().is_enabled())) {
    return;
  }
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_coverage.load() != Coverage::kNotStarted) {
    return;
  }
  g_coverage.store(Coverage::kOff);
  const CuptiApi* api = cupti_api();
  const char* problem = api != nullptr ? subscribe(*api) : "libcupti.so is not found";
  if (problem != nullptr) {
    BRAID_WARN(Ledger, "coverage", "%s: no collective starts before its GEMM is whole", problem);
  }
}

void stop_coverage(const char* why) {
  CUpti_SubscriberHandle subscriber = nullptr;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_coverage.store(Coverage::kOff);
    subscriber = std::exchange(g_subscriber, nullptr);
  }
  StreamLedger::instance().note_unknown_work();
  if (subscriber != nullptr) {
    RealCallGuard guard;
    cupti_api()->unsubscribe(subscriber);
    BRAID_INFO(Ledger, "coverage", "%s: braid has left CUPTI; no early starts from here on", why);
  }
}

}  // namespace braid::interposer

// Another profiler comes: it gets CUPTI, whose callback interface has one subscriber.
extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI
cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
  namespace bi = braid::interposer;
  static bi::RealFunction<decltype(cuptiSubscribe)> real(bi::Library::kCupti, "cuptiSubscribe");
  if (bi::should_intercept()) {
    bi::stop_coverage("another profiler subscribes");
  }
  auto* function = real.get();
  return function != nullptr ? function(subscriber, callback, userdata)
                             : CUPTI_ERROR_NOT_INITIALIZED;
}

extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI
cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
                  CUpti_SubscriberParams* params) {
  namespace bi = braid::interposer;
  using Subscribe =
      CUptiResult(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, CUpti_SubscriberParams*);
  static bi::RealFunction<Subscribe> real(bi::Library::kCupti, "cuptiSubscribe_v2");
  if (bi::should_intercept()) {
    bi::stop_coverage("another profiler subscribes");
  }
  auto* function = real.get();
  return function != nullptr ? function(subscriber, callback, userdata, params)
                             : CUPTI_ERROR_NOT_INITIALIZED;
}

extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI cuptiFinalize() {
  namespace bi = braid::interposer;
  static bi::RealFunction<decltype(cuptiFinalize)> real(bi::Library::kCupti, "cuptiFinalize");
  if (bi::should_intercept()) {
    bi::stop_coverage("CUPTI is finalized");
  }
  auto* function = real.get();
  return function != nullptr ? function() : CUPTI_ERROR_NOT_INITIALIZED;
}
