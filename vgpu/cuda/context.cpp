// Contexts: primary and created ones, the thread's stack of them, limits.
#include <cuda.h>

#include <atomic>
#include <map>
#include <mutex>

#include "vgpu/core/memory.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

constexpr unsigned kContextFlags = CU_CTX_FLAGS_MASK;

struct Limit {
  CUlimit name;
  size_t value;
};

std::mutex& limits_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

// What a card reports after start-up. Kernels here run on the host, so the values change nothing.
size_t* find_limit(CUlimit limit) {
  static Limit limits[] = {{CU_LIMIT_STACK_SIZE, 1024},
                           {CU_LIMIT_PRINTF_FIFO_SIZE, 7 << 20},
                           {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
                           {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
                           {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
                           {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
                           {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
  for (Limit& entry : limits) {
    if (entry.name == limit) {
      return &entry.value;
    }
  }
  return nullptr;
}

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
  if (out == nullptr || (flags & ~kContextFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return create_context(device, flags, out);
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : retain_primary_context(device, out);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return release_primary_context(device); }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { return reset_primary_context(device); }

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  return (flags & ~kContextFlags) != 0 ? CUDA_ERROR_INVALID_VALUE
                                       : set_primary_context_flags(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return flags == nullptr || active == nullptr ? CUDA_ERROR_INVALID_VALUE
                                               : primary_context_state(device, flags, active);
}

CUresult cuCtxCreate_v2(CUcontext* out, unsigned int flags, CUdevice device) {
  return create(out, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam*, int count, unsigned int flags,
                        CUdevice device) {
  return count != 0 ? CUDA_ERROR_NOT_SUPPORTED : create(out, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* parameters, unsigned int flags,
                        CUdevice device) {
  const bool plain = parameters == nullptr ||
                     (parameters->numExecAffinityParams == 0 && parameters->cigParams == nullptr);
  return plain ? create(out, flags, device) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxDestroy_v2(CUcontext context) { return destroy_context(context); }
CUresult cuCtxPushCurrent_v2(CUcontext context) { return push_context(context); }
CUresult cuCtxPopCurrent_v2(CUcontext* out) { return pop_context(out); }
CUresult cuCtxSetCurrent(CUcontext context) { return set_current_context(context); }

CUresult cuCtxGetCurrent(CUcontext* out) {
  if (out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = current_context();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  const Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *device = context->device();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  const Context* context = handle == nullptr ? current() : find_context(handle);
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *device = context->device();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  const Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (flags == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *flags = context->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
  Context* context = current();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if ((flags & ~kContextFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  const Context* context = handle == nullptr ? current() : find_context(handle);
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (id == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *id = context->uid();
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  Context* context = current();
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : synchronize_context(*context);
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  Context* context = handle == nullptr ? current() : find_context(handle);
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : synchronize_context(*context);
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  const std::lock_guard lock(limits_mutex());
  const size_t* entry = find_limit(limit);
  if (entry == nullptr) {
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  if (value == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *value = *entry;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const std::lock_guard lock(limits_mutex());
  size_t* entry = find_limit(limit);
  if (entry == nullptr) {
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  *entry = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  if (config == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

// A preference, which the driver may ignore.
CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  if (handle != nullptr && find_context(handle) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (version == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) {
    *least = kLeastPriority;
  }
  if (greatest != nullptr) {
    *greatest = kGreatestPriority;
  }
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer_handle, unsigned int flags) {
  const Context* context = current();
  const Context* peer = find_context(peer_handle);
  if (context == nullptr || peer == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE
                    : enable_peer_access(context->device(), peer->device());
}

CUresult cuCtxDisablePeerAccess(CUcontext peer_handle) {
  const Context* context = current();
  const Context* peer = find_context(peer_handle);
  return context == nullptr || peer == nullptr
             ? CUDA_ERROR_INVALID_CONTEXT
             : disable_peer_access(context->device(), peer->device());
}

}  // namespace braid::vgpu::driver
