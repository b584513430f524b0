// The exported runtime as a partial source of observation, for processes without CUPTI: it sees
// what goes through a shared libcudart, not what cuBLAS, Triton or a static runtime launch. With it
// traces are recorded; an early start is never based on it.
#include <cuda_runtime_api.h>

#include "interposer/hooks/coverage.hpp"
#include "interposer/hooks/observe.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"
#include "interposer/recorder.hpp"
#include "interposer/settings.hpp"

#define BRAID_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace braid::interposer;  // NOLINT: a file of exported wrappers
using braid::model::trace::CopyKind;

bool should_observe() {
  return should_intercept() && !is_cupti_observing() &&
         (Recorder::instance().is_enabled() || may_rewrite());
}

// Forwards, and observes after a call that was made.
template <typename Signature, typename Observe, typename... Arguments>
cudaError_t forward(RealFunction<Signature>& real, const void* caller, const Observe& observe,
                    Arguments... arguments) {
  auto* function = real.get(caller);
  if (function == nullptr) {
    return cudaErrorSharedObjectSymbolNotFound;
  }
  const cudaError_t result = function(arguments...);
  if (should_observe()) {
    try {
      observe();
    } catch (...) {
      observe_unknown_work();  // no memory to note it by
    }
  }
  return result;
}

CUstream driver_stream(cudaStream_t stream) { return reinterpret_cast<CUstream>(stream); }
CUevent driver_event(cudaEvent_t event) { return reinterpret_cast<CUevent>(event); }

CopyKind kind_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return CopyKind::kHostToDevice;
    case cudaMemcpyDeviceToHost:
      return CopyKind::kDeviceToHost;
    default:
      return CopyKind::kDeviceToDevice;
  }
}

LaunchShape shape_of(dim3 grid, dim3 block, size_t shared) {
  // The kernel's name is known to the runtime alone; what counts is where it runs.
  return {"kernel",
          {grid.x, grid.y, grid.z},
          {block.x, block.y, block.z},
          static_cast<unsigned>(shared)};
}

}  // namespace

#define BRAID_REAL(name) static RealFunction<decltype(::name)> real(Library::kCudart, #name)

BRAID_EXPORT cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim,
                                          void** args, size_t sharedMem, cudaStream_t stream) {
  using Launch = cudaError_t(const void*, dim3, dim3, void**, size_t, cudaStream_t);
  static RealFunction<Launch> real(Library::kCudart, "cudaLaunchKernel");
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_kernel(driver_stream(stream), shape_of(gridDim, blockDim, sharedMem)); }, func,
      gridDim, blockDim, args, sharedMem, stream);
}

BRAID_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func,
                                             void** args) {
  using Launch = cudaError_t(const cudaLaunchConfig_t*, const void*, void**);
  static RealFunction<Launch> real(Library::kCudart, "cudaLaunchKernelExC");
  return forward(
      real, __builtin_return_address(0),
      [&] {
        observe_kernel(driver_stream(config->stream),
                       shape_of(config->gridDim, config->blockDim, config->dynamicSmemBytes));
      },
      config, func, args);
}

BRAID_EXPORT cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count,
                                         cudaMemcpyKind kind, cudaStream_t stream) {
  BRAID_REAL(cudaMemcpyAsync);
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_copy(driver_stream(stream), count, kind_of(kind), true); }, dst, src, count,
      kind, stream);
}

BRAID_EXPORT cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  BRAID_REAL(cudaMemcpy);
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_copy(nullptr, count, kind_of(kind), false); }, dst, src, count, kind);
}

BRAID_EXPORT cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count,
                                         cudaStream_t stream) {
  BRAID_REAL(cudaMemsetAsync);
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_copy(driver_stream(stream), count, CopyKind::kMemset, true); }, devPtr, value,
      count, stream);
}

BRAID_EXPORT cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  BRAID_REAL(cudaMemset);
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_copy(nullptr, count, CopyKind::kMemset, true); }, devPtr, value, count);
}

BRAID_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  BRAID_REAL(cudaLaunchHostFunc);
  return forward(
      real, __builtin_return_address(0), [&] { observe_host_function(driver_stream(stream)); },
      stream, fn, userData);
}

BRAID_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  BRAID_REAL(cudaEventRecord);
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_event_record(driver_event(event), driver_stream(stream)); }, event, stream);
}

BRAID_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                  unsigned int flags) {
  BRAID_REAL(cudaEventRecordWithFlags);
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_event_record(driver_event(event), driver_stream(stream)); }, event, stream,
      flags);
}

BRAID_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                             unsigned int flags) {
  BRAID_REAL(cudaStreamWaitEvent);
  return forward(
      real, __builtin_return_address(0),
      [&] { observe_wait(driver_stream(stream), driver_event(event)); }, stream, event, flags);
}

BRAID_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  BRAID_REAL(cudaStreamSynchronize);
  return forward(
      real, __builtin_return_address(0), [&] { observe_host_wait_stream(driver_stream(stream)); },
      stream);
}

BRAID_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  BRAID_REAL(cudaEventSynchronize);
  return forward(
      real, __builtin_return_address(0), [&] { observe_host_wait_event(driver_event(event)); },
      event);
}

BRAID_EXPORT cudaError_t cudaDeviceSynchronize() {
  BRAID_REAL(cudaDeviceSynchronize);
  return forward(real, __builtin_return_address(0), [] { observe_host_wait_device(); });
}

BRAID_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  BRAID_REAL(cudaStreamDestroy);
  if (should_observe()) {
    observe_stream_destroyed(driver_stream(stream));
  }
  return forward(
      real, __builtin_return_address(0), [] {}, stream);
}

BRAID_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
  BRAID_REAL(cudaEventDestroy);
  if (should_observe()) {
    observe_event_destroyed(driver_event(event));
  }
  return forward(
      real, __builtin_return_address(0), [] {}, event);
}
