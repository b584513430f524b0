#include "vgpu/core/event.hpp"

#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "vgpu/core/context.hpp"
#include "vgpu/core/context_table.hpp"
#include "vgpu/core/executor.hpp"
#include "vgpu/core/process.hpp"

namespace braid::vgpu {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<CUevent, EventRef> events;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

CUevent add_event(EventRef event) {
  auto handle = reinterpret_cast<CUevent>(event.get());
  const std::unique_lock lock(registry().mutex);
  registry().events[handle] = std::move(event);
  return handle;
}

}  // namespace

WorkHandle Event::last() {
  const std::lock_guard lock(mutex_);
  return last_;
}

CUresult Event::record(const StreamRef& stream) {
  if (stream->context != context_) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Work work;
  work.name = "cuEventRecord";
  if (ipc_.is_valid()) {
    work.step = [ipc = ipc_, recording = ipc_.next_recording()] {
      ipc.complete(recording);
      return Step::kDone;
    };
  }
  WorkHandle done;
  const std::lock_guard lock(mutex_);  // two threads that record agree on which came last
  const CUresult result = enqueue_operation(stream, std::move(work), {}, &done);
  if (result == CUDA_SUCCESS) {
    last_ = done;
  }
  return result;
}

CUresult Event::make_wait(const StreamRef& stream) {
  Work work;
  work.name = "cuStreamWaitEvent";
  if (ipc_.is_valid()) {
    return enqueue_operation(
        stream, std::move(work),
        [ipc = ipc_, recording = ipc_.last_recording()] { return ipc.is_complete(recording); },
        nullptr);
  }
  if (WorkHandle recording = last()) {
    work.after.push_back(std::move(recording));
  }
  return enqueue_operation(stream, std::move(work), {}, nullptr);
}

CUresult Event::query() {
  const bool done = ipc_.is_valid() ? ipc_.is_complete(ipc_.last_recording()) : is_done(last());
  if (const CUresult error = device_error(context_->device()); error != CUDA_SUCCESS) {
    return error;
  }
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult Event::synchronize() {
  if (!ipc_.is_valid()) {
    return wait_for(context_->device(), {last()});
  }
  const uint64_t recording = ipc_.last_recording();
  while (!ipc_.is_complete(recording) && device_error(context_->device()) == CUDA_SUCCESS) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return device_error(context_->device());
}

CUresult Event::elapsed(Event& start, Event& end, float* milliseconds) {
  if (milliseconds == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const WorkHandle first = start.last();
  const WorkHandle second = end.last();
  const bool timed = ((start.flags_ | end.flags_) & CU_EVENT_DISABLE_TIMING) == 0;
  if (!timed || first == nullptr || second == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!is_done(first) || !is_done(second)) {
    return CUDA_ERROR_NOT_READY;
  }
  const auto nanoseconds = static_cast<double>(static_cast<int64_t>(second->time_ns()) -
                                               static_cast<int64_t>(first->time_ns()));
  *milliseconds = static_cast<float>(nanoseconds / 1e6);
  return CUDA_SUCCESS;
}

CUresult Event::export_handle(CUipcEventHandle* handle) const {
  return ipc_.is_valid() ? ipc_.write_handle(handle) : CUDA_ERROR_INVALID_HANDLE;
}

void Event::release() { ipc_.release(); }

CUresult create_event(unsigned flags, CUevent* out) {
  Context* context = find_context(current_context());
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  constexpr unsigned kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  const bool shared = (flags & CU_EVENT_INTERPROCESS) != 0;
  if (out == nullptr || (flags & ~kKnown) != 0 ||
      (shared && (flags & CU_EVENT_DISABLE_TIMING) == 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult error = device_error(context->device()); error != CUDA_SUCCESS) {
    return error;
  }
  IpcEvent ipc;
  if (shared) {
    ipc = IpcEvent::create();
    if (!ipc.is_valid()) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  *out = add_event(std::make_shared<Event>(context, flags, ipc));
  return CUDA_SUCCESS;
}

CUresult open_event(const CUipcEventHandle& handle, CUevent* out) {
  Context* context = find_context(current_context());
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  const IpcEvent ipc = IpcEvent::open(handle);
  if (!ipc.is_valid() || out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = add_event(
      std::make_shared<Event>(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, ipc));
  return CUDA_SUCCESS;
}

CUresult destroy_event(CUevent handle) {
  EventRef event;
  {
    const std::unique_lock lock(registry().mutex);
    const auto found = registry().events.find(handle);
    if (found == registry().events.end()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    event = std::move(found->second);
    registry().events.erase(found);
  }
  event->release();
  return CUDA_SUCCESS;
}

EventRef find_event(CUevent handle) {
  if (is_fork_child()) {
    return nullptr;
  }
  const std::shared_lock lock(registry().mutex);
  const auto found = registry().events.find(handle);
  return found == registry().events.end() ? nullptr : found->second;
}

}  // namespace braid::vgpu
