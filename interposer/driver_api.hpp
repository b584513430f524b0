// The few driver functions braid itself calls, found at run time (libbraid links no CUDA library).
#pragma once

#include <cuda.h>

#include <string>

#include "config/result.hpp"

namespace braid::interposer {

/// Function pointers of libcuda.so.1. All are set, or there is no table.
struct DriverApi {
  CUresult (*ctx_get_device)(CUdevice*);
  CUresult (*ctx_get_stream_priority_range)(int*, int*);
  CUresult (*device_get_name)(char*, int, CUdevice);
  CUresult (*device_get_pci_bus_id)(char*, int, CUdevice);
  CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice);
  CUresult (*device_total_mem)(size_t*, CUdevice);
  CUresult (*driver_get_version)(int*);
  CUresult (*event_create)(CUevent*, unsigned);
  CUresult (*event_destroy)(CUevent);
  CUresult (*event_record)(CUevent, CUstream);
  CUresult (*stream_create_with_priority)(CUstream*, unsigned, int);
  CUresult (*stream_destroy)(CUstream);
  CUresult (*stream_get_flags)(CUstream, unsigned*);
  CUresult (*stream_get_priority)(CUstream, int*);
  CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*);
  CUresult (*stream_wait_event)(CUstream, CUevent, unsigned);
  CUresult (*stream_get_ctx)(CUstream, CUcontext*);
  CUresult (*ctx_push_current)(CUcontext);
  CUresult (*ctx_pop_current)(CUcontext*);
};

/// The table, or nullptr when the process has no usable driver (said once in the log).
const DriverApi* driver_api();

/// Device of the calling thread's current context, -1: none.
int current_device();

/// Device of the stream's context, whatever context is current; -1: cannot be told.
int device_of(CUstream stream);

/// While one lives, the context of `stream` is current: what is made belongs with it, whatever
/// device the program has set. A default stream's context is the current one.
class StreamContext {
 public:
  explicit StreamContext(CUstream stream);
  ~StreamContext();
  StreamContext(const StreamContext&) = delete;
  StreamContext& operator=(const StreamContext&) = delete;
  bool is_current() const { return pushed_; }

 private:
  bool pushed_ = false;
};

/// True for the handles that name a default stream of the current device.
bool is_default_stream(CUstream stream);

/// "0000:10:00.0", lower case; empty when the driver cannot tell.
std::string bus_id_of(int device);

/// True when the stream is capturing, or when it cannot be told.
bool is_capturing(CUstream stream);

}  // namespace braid::interposer
