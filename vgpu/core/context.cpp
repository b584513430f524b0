#include "vgpu/core/context.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "vgpu/core/box.hpp"
#include "vgpu/core/context_table.hpp"
#include "vgpu/core/executor.hpp"
#include "vgpu/core/memory.hpp"
#include "vgpu/core/process.hpp"

namespace braid::vgpu {
namespace {

constexpr int kStackDepth = 32;

// Plain data: library handlers that run while the process exits may still ask for the device.
thread_local CUcontext context_stack[kStackDepth];
thread_local int context_depth = 0;
thread_local bool in_host_function = false;
thread_local bool per_thread_default = false;

std::atomic<bool> initialized{false};

struct Primary {
  Context* context = nullptr;  // kept when released, used again at the next retain
  int references = 0;
  unsigned flags = 0;
};

struct Table {
  std::shared_mutex mutex;
  std::vector<Context*> contexts;  // all ever made
  std::vector<Primary> primaries;
};

Table& table() {
  static Table& instance = *[] {
    auto* made = new Table;
    made->primaries.resize(devices().size());
    return made;
  }();
  return instance;
}

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

bool is_device(int device) { return device >= 0 && static_cast<size_t>(device) < devices().size(); }

CUresult retain_locked(int device, int references, CUcontext* out) {
  Primary& primary = table().primaries[static_cast<size_t>(device)];
  if (primary.context == nullptr) {
    primary.context = new Context(device, true, primary.flags);
    table().contexts.push_back(primary.context);
  }
  primary.context->alive = true;
  primary.references += references;
  *out = handle_of(primary.context);
  return CUDA_SUCCESS;
}

// A context ends: its work first, then its streams and memory.
void close_context(Context& context) {
  synchronize_context(context);
  context.alive = false;
  context.close();
  free_context_memory(context);
}

}  // namespace

CUresult check_ready() {
  if (is_fork_child() || !initialized.load(std::memory_order_acquire)) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  return in_host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult initialize() {
  if (is_fork_child()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (box_error()) {
    return CUDA_ERROR_NO_DEVICE;
  }
  initialized.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}

Context* find_context(CUcontext handle) {
  if (handle == nullptr || is_fork_child()) {
    return nullptr;
  }
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  for (Context* context : all.contexts) {
    if (handle_of(context) == handle) {
      return context->alive ? context : nullptr;
    }
  }
  return nullptr;
}

std::vector<Context*> contexts_of(int device) {
  std::vector<Context*> out;
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  std::copy_if(all.contexts.begin(), all.contexts.end(), std::back_inserter(out),
               [&](Context* c) { return c->device() == device && c->alive; });
  return out;
}

CUcontext current_context() {
  return context_depth == 0 ? nullptr : context_stack[context_depth - 1];
}

CUresult set_current_context(CUcontext handle) {
  if (handle == nullptr) {
    context_depth = std::max(0, context_depth - 1);
    return CUDA_SUCCESS;
  }
  if (find_context(handle) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  context_depth = std::max(1, context_depth);
  context_stack[context_depth - 1] = handle;
  return CUDA_SUCCESS;
}

CUresult push_context(CUcontext handle) {
  if (find_context(handle) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context_depth == kStackDepth) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  context_stack[context_depth++] = handle;
  return CUDA_SUCCESS;
}

CUresult pop_context(CUcontext* out) {
  if (context_depth == 0) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  --context_depth;
  if (out != nullptr) {
    *out = context_stack[context_depth];
  }
  return CUDA_SUCCESS;
}

CUresult retain_primary_context(int device, CUcontext* out) {
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const std::unique_lock lock(table().mutex);
  return retain_locked(device, 1, out);
}

CUresult release_primary_context(int device) {
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  Context* ended = nullptr;
  {
    const std::unique_lock lock(table().mutex);
    Primary& primary = table().primaries[static_cast<size_t>(device)];
    if (primary.references == 0) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--primary.references == 0) {
      ended = primary.context;
    }
  }
  if (ended != nullptr) {
    close_context(*ended);
  }
  return CUDA_SUCCESS;
}

CUresult reset_primary_context(int device) {
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  Context* context = nullptr;
  {
    const std::shared_lock lock(table().mutex);
    context = table().primaries[static_cast<size_t>(device)].context;
  }
  if (context != nullptr && context->alive) {
    close_context(*context);
    // Whoever retained it goes on with a fresh one at the same address.
    const std::unique_lock lock(table().mutex);
    context->alive = table().primaries[static_cast<size_t>(device)].references > 0;
  }
  return CUDA_SUCCESS;
}

CUresult set_primary_context_flags(int device, unsigned flags) {
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const std::unique_lock lock(table().mutex);
  Primary& primary = table().primaries[static_cast<size_t>(device)];
  primary.flags = flags;
  if (primary.context != nullptr) {
    primary.context->flags = flags;
  }
  return CUDA_SUCCESS;
}

CUresult primary_context_state(int device, unsigned* flags, int* active) {
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const std::shared_lock lock(table().mutex);
  const Primary& primary = table().primaries[static_cast<size_t>(device)];
  *flags = primary.flags;
  *active = primary.context != nullptr && primary.context->alive ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult create_context(int device, unsigned flags, CUcontext* out) {
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  auto* context = new Context(device, false, flags);
  {
    const std::unique_lock lock(table().mutex);
    table().contexts.push_back(context);
  }
  *out = handle_of(context);
  return push_context(*out);
}

CUresult destroy_context(CUcontext handle) {
  Context* context = find_context(handle);
  if (context == nullptr || context->is_primary()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (current_context() == handle) {
    pop_context(nullptr);
  }
  close_context(*context);
  return CUDA_SUCCESS;
}

CUresult ensure_current_device_context() {
  if (context_depth > 0 && !is_fork_child()) {
    return in_host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
  }
  if (in_host_function) {
    return CUDA_ERROR_NOT_PERMITTED;
  }
  const CUresult error = initialize();
  return error != CUDA_SUCCESS ? error : set_current_device(0);
}

int current_device() {
  Context* context = find_context(current_context());
  return context == nullptr ? 0 : context->device();
}

CUresult set_current_device(int ordinal) {
  if (const CUresult error = initialize(); error != CUDA_SUCCESS) {
    return error;
  }
  if (!is_device(ordinal)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  CUcontext handle = nullptr;
  {
    // The runtime holds one reference to each primary context it uses.
    const std::unique_lock lock(table().mutex);
    const bool first = table().primaries[static_cast<size_t>(ordinal)].references == 0;
    retain_locked(ordinal, first ? 1 : 0, &handle);
  }
  return set_current_context(handle);
}

bool null_stream_is_per_thread() { return per_thread_default; }

PerThreadDefaultStream::PerThreadDefaultStream() : previous_(per_thread_default) {
  per_thread_default = true;
}
PerThreadDefaultStream::~PerThreadDefaultStream() { per_thread_default = previous_; }

HostFunctionScope::HostFunctionScope() { in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { in_host_function = false; }

}  // namespace braid::vgpu
