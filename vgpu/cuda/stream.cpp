// Streams, host functions in them, and capture queries.
#include "vgpu/core/stream.hpp"

#include <cuda.h>

#include <utility>

#include "vgpu/core/host_function.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

// Finds the stream and lets `use` answer.
template <typename Use>
CUresult with_stream(CUstream handle, Use use) {
  StreamRef stream;
  const CUresult error = find_stream(handle, &stream);
  return error != CUDA_SUCCESS ? error : use(stream);
}

}  // namespace

CUresult cuStreamCreate(CUstream* out, unsigned int flags) {
  return create_stream(flags, kLeastPriority, out);
}

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned int flags, int priority) {
  return create_stream(flags, priority, out);
}

CUresult cuStreamDestroy_v2(CUstream handle) { return destroy_stream(handle); }

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (priority == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *priority = stream->priority;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (flags == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = stream->flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (id == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *id = stream->id;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (device == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *device = stream->device;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (context == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *context = reinterpret_cast<CUcontext>(stream->context);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) {
    *green = nullptr;
  }
  return driver::cuStreamGetCtx(handle, context);
}

CUresult cuStreamQuery(CUstream handle) { return with_stream(handle, query_stream); }
CUresult cuStreamSynchronize(CUstream handle) { return with_stream(handle, synchronize_stream); }

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* user_data) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (function == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return enqueue_host_function(stream, [=](CUresult error) {
      if (error == CUDA_SUCCESS) {
        function(user_data);
      }
    });
  });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* user_data,
                             unsigned int flags) {
  return with_stream(handle, [&](const StreamRef& stream) {
    if (callback == nullptr || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return enqueue_host_function(stream,
                                 [=](CUresult error) { callback(handle, error, user_data); });
  });
}

// No stream is ever captured: capture cannot be started.
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return with_stream(handle, [&](const StreamRef&) {
    if (status == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t*) {
  return driver::cuStreamIsCapturing(handle, status);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t*,
                                   CUgraph*, const CUgraphNode**, size_t*) {
  return driver::cuStreamIsCapturing(handle, status);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t*,
                                   CUgraph*, const CUgraphNode**, const CUgraphEdgeData**,
                                   size_t*) {
  return driver::cuStreamIsCapturing(handle, status);
}

// The mode of the thread matters only while something is captured; it is kept and handed back.
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode current_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
      *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::swap(*mode, current_mode);
  return CUDA_SUCCESS;
}

}  // namespace braid::vgpu::driver
