// Events.
#include "vgpu/core/event.hpp"

#include <cuda.h>

#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {

CUresult cuEventCreate(CUevent* out, unsigned int flags) { return create_event(flags, out); }
CUresult cuEventDestroy_v2(CUevent handle) { return destroy_event(handle); }

CUresult cuEventRecordWithFlags(CUevent event_handle, CUstream stream_handle, unsigned int flags) {
  if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const EventRef event = find_event(event_handle);
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  StreamRef stream;
  const CUresult error = find_stream(stream_handle, &stream);
  return error != CUDA_SUCCESS ? error : event->record(stream);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return driver::cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent event_handle, unsigned int flags) {
  if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const EventRef event = find_event(event_handle);
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  StreamRef stream;
  const CUresult error = find_stream(stream_handle, &stream);
  return error != CUDA_SUCCESS ? error : event->make_wait(stream);
}

CUresult cuEventQuery(CUevent handle) {
  const EventRef event = find_event(handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : event->query();
}

CUresult cuEventSynchronize(CUevent handle) {
  const EventRef event = find_event(handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : event->synchronize();
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  const EventRef start = find_event(start_handle);
  const EventRef end = find_event(end_handle);
  return start == nullptr || end == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                            : Event::elapsed(*start, *end, milliseconds);
}

}  // namespace braid::vgpu::driver
