#include "vgpu/core/stream.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "vgpu/core/context.hpp"
#include "vgpu/core/context_table.hpp"
#include "vgpu/core/executor.hpp"
#include "vgpu/core/process.hpp"

namespace braid::vgpu {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<CUstream, StreamRef> streams;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

CUstream handle_of(const Stream* stream) {
  return reinterpret_cast<CUstream>(const_cast<Stream*>(stream));
}

bool is_default(CUstream handle) {
  return handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

void add_if_pending(const WorkHandle& handle, std::vector<WorkHandle>& out) {
  if (!is_done(handle)) {
    out.push_back(handle);
  }
}

void drop_done(std::vector<WorkHandle>& handles) {
  handles.erase(std::remove_if(handles.begin(), handles.end(), is_done), handles.end());
}

}  // namespace

Context::Context(int device, bool primary, unsigned flags_at_start)
    : flags(flags_at_start), device_(device), primary_(primary), uid_([] {
        static std::atomic<uint32_t> next{1};
        return next++;
      }()) {}

StreamRef Context::make_stream(unsigned flags_wanted, int priority, bool legacy) {
  static std::atomic<uint64_t> next_id{1};
  auto stream = std::make_shared<Stream>();
  stream->id = next_id++;
  stream->device = device_;
  stream->context = this;
  stream->flags = flags_wanted;
  stream->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  stream->is_legacy = legacy;
  // Hardware queues are dealt out in the order streams are made.
  Executor& executor = Executor::of(device_);
  stream->queue = executor.deal_queue();
  streams_[stream.get()] = stream;
  return stream;
}

StreamRef Context::legacy_stream() {
  const std::lock_guard lock(Executor::of(device_).issue_mutex());
  if (legacy_ == nullptr) {
    legacy_ = make_stream(0, 0, true);
  }
  return legacy_;
}

StreamRef Context::thread_stream() {
  const std::lock_guard lock(Executor::of(device_).issue_mutex());
  StreamRef& stream = thread_streams_[static_cast<uint64_t>(pthread_self())];
  if (stream == nullptr) {
    stream = make_stream(0, 0, false);
  }
  return stream;
}

StreamRef Context::create_stream(unsigned flags_wanted, int priority) {
  StreamRef stream;
  {
    const std::lock_guard lock(Executor::of(device_).issue_mutex());
    stream = make_stream(flags_wanted, priority, false);
  }
  const std::unique_lock lock(registry().mutex);
  registry().streams[handle_of(stream.get())] = stream;
  return stream;
}

void Context::retire_stream(const StreamRef& stream) {
  {
    const std::unique_lock lock(registry().mutex);
    registry().streams.erase(handle_of(stream.get()));
  }
  const std::lock_guard lock(Executor::of(device_).issue_mutex());
  streams_.erase(stream.get());
  std::vector<WorkHandle>& retired = stream->is_blocking() ? retired_ : retired_non_blocking_;
  drop_done(retired);
  add_if_pending(stream->tail, retired);
}

void Context::close() {
  std::vector<StreamRef> streams;
  {
    const std::lock_guard lock(Executor::of(device_).issue_mutex());
    for (const auto& [key, stream] : streams_) {
      streams.push_back(stream);
    }
    thread_streams_.clear();
    legacy_ = nullptr;
  }
  for (const StreamRef& stream : streams) {
    retire_stream(stream);
  }
}

void Context::collect_pending(bool only_ordered_with_legacy, std::vector<WorkHandle>& out) {
  for (const auto& [key, stream] : streams_) {
    if (!only_ordered_with_legacy || stream->is_legacy || stream->is_blocking()) {
      add_if_pending(stream->tail, out);
    }
  }
  drop_done(retired_);
  out.insert(out.end(), retired_.begin(), retired_.end());
  if (!only_ordered_with_legacy) {
    drop_done(retired_non_blocking_);
    out.insert(out.end(), retired_non_blocking_.begin(), retired_non_blocking_.end());
  }
}

std::vector<WorkHandle> Context::pending(bool only_ordered_with_legacy) {
  std::vector<WorkHandle> out;
  const std::lock_guard lock(Executor::of(device_).issue_mutex());
  collect_pending(only_ordered_with_legacy, out);
  return out;
}

CUresult find_stream(CUstream handle, StreamRef* out) {
  if (is_fork_child()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  const bool per_thread =
      handle == CU_STREAM_PER_THREAD || (handle == nullptr && null_stream_is_per_thread());
  if (is_default(handle)) {
    Context* context = find_context(current_context());
    if (context == nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    *out = per_thread ? context->thread_stream() : context->legacy_stream();
    return CUDA_SUCCESS;
  }
  const std::shared_lock lock(registry().mutex);
  const auto found = registry().streams.find(handle);
  if (found == registry().streams.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *out = found->second;
  return CUDA_SUCCESS;
}

CUresult enqueue_operation(const StreamRef& stream, Work work, std::function<bool()> gate,
                           WorkHandle* handle) {
  Executor& executor = Executor::of(stream->device);
  if (executor.error() != CUDA_SUCCESS) {
    return executor.error();
  }
  auto operation = std::make_unique<Operation>();
  operation->work = std::move(work);
  operation->gate = std::move(gate);
  operation->priority = stream->priority;
  operation->done = std::make_shared<Completion>();
  const WorkHandle done = operation->done;
  {
    const std::lock_guard lock(executor.issue_mutex());
    Context& context = *stream->context;
    std::vector<WorkHandle>& after = operation->work.after;
    if (stream->is_legacy) {
      context.collect_pending(true, after);
    } else {
      add_if_pending(stream->tail, after);
      if (stream->is_blocking() && context.legacy_ != nullptr) {
        add_if_pending(context.legacy_->tail, after);
      }
    }
    stream->tail = done;
    executor.append(stream->queue, std::move(operation));
  }
  if (handle != nullptr) {
    *handle = done;
  }
  return CUDA_SUCCESS;
}

CUresult wait_for(int device, const std::vector<WorkHandle>& handles) {
  for (const WorkHandle& handle : handles) {
    if (handle != nullptr) {
      handle->wait();
    }
  }
  return Executor::of(device).error();
}

namespace {

std::vector<WorkHandle> pending_of(const Stream& stream) {
  if (stream.is_legacy) {
    return stream.context->pending(true);
  }
  const std::lock_guard lock(Executor::of(stream.device).issue_mutex());
  return {stream.tail};
}

}  // namespace

CUresult synchronize_stream(const StreamRef& stream) {
  return wait_for(stream->device, pending_of(*stream));
}

CUresult query_stream(const StreamRef& stream) {
  const std::vector<WorkHandle> pending = pending_of(*stream);
  if (const CUresult error = Executor::of(stream->device).error(); error != CUDA_SUCCESS) {
    return error;
  }
  return std::all_of(pending.begin(), pending.end(), is_done) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult synchronize_context(Context& context) {
  return wait_for(context.device(), context.pending(false));
}

CUresult synchronize_device(int device) {
  for (Context* context : contexts_of(device)) {
    wait_for(device, context->pending(false));
  }
  return Executor::of(device).error();
}

CUresult create_stream(unsigned flags, int priority, CUstream* out) {
  Context* context = find_context(current_context());
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (out == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult error = device_error(context->device()); error != CUDA_SUCCESS) {
    return error;
  }
  *out = handle_of(context->create_stream(flags, priority).get());
  return CUDA_SUCCESS;
}

CUresult destroy_stream(CUstream handle) {
  if (is_default(handle)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  StreamRef stream;
  if (const CUresult error = find_stream(handle, &stream); error != CUDA_SUCCESS) {
    return error;
  }
  stream->context->retire_stream(stream);
  return CUDA_SUCCESS;
}

// ---- vgpu.hpp

CUresult enqueue(CUstream handle, Work work, WorkHandle* done) {
  StreamRef stream;
  CUresult error = check_ready();
  if (error == CUDA_SUCCESS && is_default(handle)) {
    error = ensure_current_device_context();
  }
  if (error == CUDA_SUCCESS) {
    error = find_stream(handle, &stream);
  }
  return error != CUDA_SUCCESS ? error : enqueue_operation(stream, std::move(work), {}, done);
}

bool is_stream(CUstream handle) { return device_of(handle) >= 0; }

int device_of(CUstream handle) {
  if (is_fork_child()) {
    return -1;
  }
  if (is_default(handle)) {
    return current_device();
  }
  StreamRef stream;
  return find_stream(handle, &stream) == CUDA_SUCCESS ? stream->device : -1;
}

CUresult synchronize(CUstream handle) {
  StreamRef stream;
  const CUresult error = find_stream(handle, &stream);
  return error != CUDA_SUCCESS ? error : synchronize_stream(stream);
}

}  // namespace braid::vgpu
