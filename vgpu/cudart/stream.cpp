// Streams, host functions, and the capture queries. Nothing is ever being captured.
#include <memory>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

namespace {

thread_local cudaStreamCaptureMode t_capture_mode = cudaStreamCaptureModeGlobal;

cudaError_t create_stream(cudaStream_t* stream, unsigned int flags, const int* priority) {
  if (stream == nullptr || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) {
    return finish(cudaErrorInvalidValue);
  }
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return finish(result);
  }
  return finish(priority == nullptr ? cuStreamCreate(stream, flags)
                                    : cuStreamCreateWithPriority(stream, flags, *priority));
}

struct StreamCallback {
  cudaStream_t stream;
  cudaStreamCallback_t function;
  void* user_data;
};

void run_callback(void* argument) {
  const std::unique_ptr<StreamCallback> callback(static_cast<StreamCallback*>(argument));
  callback->function(callback->stream, cudaSuccess, callback->user_data);
}

/// Runs `call` on a prepared thread.
template <typename Call>
cudaError_t prepared(Call call) {
  const CUresult result = prepare();
  return finish(result == CUDA_SUCCESS ? call() : result);
}

}  // namespace

CUDART_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create_stream(stream, cudaStreamDefault, nullptr);
}

CUDART_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return create_stream(stream, flags, nullptr);
}

CUDART_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags,
                                                    int priority) {
  return create_stream(stream, flags, &priority);
}

CUDART_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return prepared([&] { return cuStreamDestroy(stream); });
}

CUDART_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return prepared([&] { return cuStreamSynchronize(stream); });
}

CUDART_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return prepared([&] { return cuStreamQuery(stream); });
}

CUDART_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                           unsigned int flags) {
  return prepared([&] { return cuStreamWaitEvent(stream, event, flags); });
}

CUDART_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return prepared([&] { return cuStreamGetPriority(stream, priority); });
}

CUDART_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return prepared([&] { return cuStreamGetFlags(stream, flags); });
}

CUDART_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return prepared([&] { return cuStreamGetId(stream, id); });
}

CUDART_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  if (device == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  const CUresult result = prepare();
  if (result != CUDA_SUCCESS) {
    return finish(result);
  }
  const int ordinal = braid::vgpu::device_of(stream);
  if (ordinal < 0) {
    return finish(cudaErrorInvalidResourceHandle);
  }
  *device = ordinal;
  return cudaSuccess;
}

CUDART_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                          void* user_data) {
  return prepared([&] { return cuLaunchHostFunc(stream, function, user_data); });
}

CUDART_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                             void* user_data, unsigned int flags) {
  if (function == nullptr || flags != 0) {
    return finish(cudaErrorInvalidValue);
  }
  auto callback = std::make_unique<StreamCallback>(StreamCallback{stream, function, user_data});
  const cudaError_t error =
      prepared([&] { return cuLaunchHostFunc(stream, run_callback, callback.get()); });
  if (error == cudaSuccess) {
    callback.release();  // run_callback deletes it
  }
  return error;
}

CUDART_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  return prepared([&] {
    *status = cudaStreamCaptureStatusNone;
    return braid::vgpu::is_stream(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUDART_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                                cudaStreamCaptureStatus* status,
                                                unsigned long long* id, cudaGraph_t* graph,
                                                const cudaGraphNode_t** dependencies,
                                                const cudaGraphEdgeData** edges,
                                                size_t* dependency_count) {
  // The other outputs are only defined while the stream is captured.
  (void)id;
  (void)graph;
  (void)dependencies;
  (void)edges;
  (void)dependency_count;
  return cudaStreamIsCapturing(stream, status);
}

CUDART_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal ||
      *mode > cudaStreamCaptureModeRelaxed) {
    return finish(cudaErrorInvalidValue);
  }
  const cudaStreamCaptureMode previous = t_capture_mode;
  t_capture_mode = *mode;
  *mode = previous;
  return cudaSuccess;
}

CUDART_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  (void)stream;
  (void)mode;
  return refuse("cudaStreamBeginCapture", "they have no CUDA graphs; run without graph capture");
}
