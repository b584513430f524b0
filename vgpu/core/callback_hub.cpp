#include "vgpu/core/callback_hub.hpp"

#include <array>
#include <condition_variable>
#include <mutex>

#include "vgpu/core/context.hpp"
#include "vgpu/core/context_table.hpp"
#include "vgpu/core/process.hpp"

namespace braid::vgpu {

std::atomic<uint32_t> callbacks_wanted{0};

namespace {

constexpr size_t kIds = CUPTI_DRIVER_TRACE_CBID_SIZE;

struct Hub {
  std::array<std::atomic<bool>, kIds> enabled{};
  std::mutex mutex;
  std::condition_variable left;
  CUpti_CallbackFunc function = nullptr;
  void* user_data = nullptr;
  std::atomic<uint64_t> generation{0};  // changes with every subscription; odd: somebody subscribed
  int inside = 0;                       // callbacks that run now
};

Hub& hub() {
  static Hub& instance = *new Hub;
  return instance;
}

// Callbacks of this thread that are on the stack: a call made in one is reported too, as CUPTI
// does, and a callback may unsubscribe.
thread_local int own_depth = 0;

std::atomic<uint32_t> next_correlation{1};

CUpti_SubscriberHandle handle_of(uint64_t generation) {
  return reinterpret_cast<CUpti_SubscriberHandle>(generation);
}

bool is_current(CUpti_SubscriberHandle handle) {
  const uint64_t generation = hub().generation.load();
  return generation % 2 == 1 && handle == handle_of(generation);
}

void call_subscriber(uint64_t generation, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  CUpti_CallbackFunc function = nullptr;
  void* user_data = nullptr;
  {
    const std::lock_guard lock(hub().mutex);
    if (hub().generation.load() != generation) {
      return;
    }
    function = hub().function;
    user_data = hub().user_data;
    ++hub().inside;
  }
  ++own_depth;
  function(user_data, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
  --own_depth;
  const std::lock_guard lock(hub().mutex);
  --hub().inside;
  hub().left.notify_all();
}

void count_enabled() {
  uint32_t count = 0;
  for (const auto& flag : hub().enabled) {
    count += flag.load(std::memory_order_relaxed) ? 1 : 0;
  }
  callbacks_wanted.store(count, std::memory_order_relaxed);
}

void end_subscription(std::unique_lock<std::mutex>& lock) {
  for (auto& flag : hub().enabled) {
    flag.store(false, std::memory_order_relaxed);
  }
  callbacks_wanted.store(0, std::memory_order_relaxed);
  hub().generation.fetch_add(1);
  hub().function = nullptr;
  hub().user_data = nullptr;
  hub().left.wait(lock, [] { return hub().inside <= own_depth; });
}

}  // namespace

bool wants_callback(CUpti_CallbackId id) {
  return id < kIds && hub().enabled[id].load(std::memory_order_relaxed) && !is_fork_child();
}

CallbackScope::CallbackScope(CUpti_CallbackId id, const char* function, const void* parameters,
                             const char* symbol)
    : id_(id), generation_(hub().generation.load()) {
  Context* context = find_context(current_context());
  data_.callbackSite = CUPTI_API_ENTER;
  data_.functionName = function;
  data_.functionParams = parameters;
  data_.functionReturnValue = &result_;
  data_.symbolName = symbol;
  data_.context = current_context();
  data_.contextUid = context == nullptr ? 0 : context->uid();
  data_.correlationData = &correlation_data_;
  data_.correlationId = next_correlation.fetch_add(1, std::memory_order_relaxed);
  call_subscriber(generation_, id_, data_);
}

CUresult CallbackScope::finish(CUresult result) {
  result_ = result;
  data_.callbackSite = CUPTI_API_EXIT;
  call_subscriber(generation_, id_, data_);
  return result;
}

CUptiResult add_subscriber(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc function,
                           void* user_data) {
  if (handle == nullptr || function == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (is_fork_child()) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  const std::lock_guard lock(hub().mutex);
  if (hub().generation.load() % 2 == 1) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  hub().function = function;
  hub().user_data = user_data;
  *handle = handle_of(hub().generation.fetch_add(1) + 1);
  return CUPTI_SUCCESS;
}

CUptiResult remove_subscriber(CUpti_SubscriberHandle handle) {
  if (is_fork_child()) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  std::unique_lock lock(hub().mutex);
  if (!is_current(handle)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  end_subscription(lock);
  return CUPTI_SUCCESS;
}

void remove_all_subscribers() {
  if (is_fork_child()) {
    return;
  }
  std::unique_lock lock(hub().mutex);
  if (hub().generation.load() % 2 == 1) {
    end_subscription(lock);
  }
}

CUptiResult enable_callback(CUpti_SubscriberHandle handle, CUpti_CallbackId id, bool enable) {
  if (is_fork_child()) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  const std::lock_guard lock(hub().mutex);
  if (!is_current(handle) || id == CUPTI_DRIVER_TRACE_CBID_INVALID || id >= kIds) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  hub().enabled[id].store(enable, std::memory_order_relaxed);
  count_enabled();
  return CUPTI_SUCCESS;
}

CUptiResult enable_all_callbacks(CUpti_SubscriberHandle handle, bool enable) {
  if (is_fork_child()) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  const std::lock_guard lock(hub().mutex);
  if (!is_current(handle)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (size_t id = 1; id < kIds; ++id) {
    hub().enabled[id].store(enable, std::memory_order_relaxed);
  }
  count_enabled();
  return CUPTI_SUCCESS;
}

CUptiResult callback_state(CUpti_SubscriberHandle handle, CUpti_CallbackId id, uint32_t* enabled) {
  if (is_fork_child()) {
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  const std::lock_guard lock(hub().mutex);
  if (enabled == nullptr || !is_current(handle) || id >= kIds) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *enabled = hub().enabled[id].load(std::memory_order_relaxed) ? 1 : 0;
  return CUPTI_SUCCESS;
}

}  // namespace braid::vgpu
