// Versions, results in words, ids and the clock.
#include <cupti.h>

#include <chrono>

#include "vgpu/core/context.hpp"
#include "vgpu/core/context_table.hpp"
#include "vgpu/core/stream.hpp"

#define CUPTI_EXPORT extern "C" __attribute__((visibility("default")))

using namespace braid::vgpu;

namespace {

struct ResultRow {
  CUptiResult value;
  const char* name;
};

constexpr ResultRow kResults[] = {
#define RESULT(name) {name, #name},
#include "vgpu/cupti/results.inc"
#undef RESULT
};

}  // namespace

CUPTI_EXPORT CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (const ResultRow& row : kResults) {
    if (row.value == result) {
      *text = row.name;
      return CUPTI_SUCCESS;
    }
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return cuptiGetResultString(result, text);
}

CUPTI_EXPORT CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *timestamp = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                         std::chrono::system_clock::now().time_since_epoch())
                                         .count());
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult cuptiGetContextId(CUcontext handle, uint32_t* id) {
  const Context* context = find_context(handle);
  if (context == nullptr) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  if (id == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *id = context->uid();
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult cuptiGetDeviceId(CUcontext handle, uint32_t* id) {
  const Context* context = find_context(handle == nullptr ? current_context() : handle);
  if (context == nullptr) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  if (id == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *id = static_cast<uint32_t>(context->device());
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext handle, CUstream stream_handle,
                                            uint8_t per_thread, uint32_t* id) {
  Context* context = find_context(handle == nullptr ? current_context() : handle);
  if (context == nullptr) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  if (id == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  StreamRef stream;
  if (stream_handle == CU_STREAM_PER_THREAD || (stream_handle == nullptr && per_thread != 0)) {
    stream = context->thread_stream();
  } else if (stream_handle == nullptr || stream_handle == CU_STREAM_LEGACY) {
    stream = context->legacy_stream();
  } else if (find_stream(stream_handle, &stream) != CUDA_SUCCESS) {
    return CUPTI_ERROR_INVALID_STREAM;
  }
  *id = static_cast<uint32_t>(stream->id);
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult cuptiGetStreamId(CUcontext handle, CUstream stream, uint32_t* id) {
  return cuptiGetStreamIdEx(handle, stream, 0, id);
}
