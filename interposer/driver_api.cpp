#include "interposer/driver_api.hpp"

#include <algorithm>
#include <cctype>

#include "config/diagnostics.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"

namespace braid::interposer {
namespace {

template <typename Function>
bool bind(Function& function, const char* name) {
  function = reinterpret_cast<Function>(load_real_symbol(Library::kCuda, name));
  if (function == nullptr) {
    BRAID_WARN(Init, "driver", "libcuda.so.1 has no %s: nothing is rewritten in this process",
               name);
  }
  return function != nullptr;
}

const DriverApi* bind_all() {
  static DriverApi api{};
  const bool complete = bind(api.ctx_get_device, "cuCtxGetDevice") &&
                        bind(api.ctx_get_stream_priority_range, "cuCtxGetStreamPriorityRange") &&
                        bind(api.device_get_name, "cuDeviceGetName") &&
                        bind(api.device_get_pci_bus_id, "cuDeviceGetPCIBusId") &&
                        bind(api.device_get_attribute, "cuDeviceGetAttribute") &&
                        bind(api.device_total_mem, "cuDeviceTotalMem_v2") &&
                        bind(api.driver_get_version, "cuDriverGetVersion") &&
                        bind(api.event_create, "cuEventCreate") &&
                        bind(api.event_destroy, "cuEventDestroy_v2") &&
                        bind(api.event_record, "cuEventRecord") &&
                        bind(api.stream_create_with_priority, "cuStreamCreateWithPriority") &&
                        bind(api.stream_destroy, "cuStreamDestroy_v2") &&
                        bind(api.stream_get_flags, "cuStreamGetFlags") &&
                        bind(api.stream_get_priority, "cuStreamGetPriority") &&
                        bind(api.stream_is_capturing, "cuStreamIsCapturing") &&
                        bind(api.stream_get_ctx, "cuStreamGetCtx") &&
                        bind(api.ctx_push_current, "cuCtxPushCurrent_v2") &&
                        bind(api.ctx_pop_current, "cuCtxPopCurrent_v2") &&
                        bind(api.stream_wait_event, "cuStreamWaitEvent");
  return complete ? &api : nullptr;
}

}  // namespace

const DriverApi* driver_api() {
  static const DriverApi* api = bind_all();
  return api;
}

int current_device() {
  const DriverApi* driver = driver_api();
  CUdevice device = -1;
  RealCallGuard guard;
  if (driver == nullptr || driver->ctx_get_device(&device) != CUDA_SUCCESS) {
    return -1;
  }
  return device;
}

StreamContext::StreamContext(CUstream stream) {
  const DriverApi* driver = driver_api();
  CUcontext context = nullptr;
  RealCallGuard guard;
  pushed_ = driver != nullptr && driver->stream_get_ctx(stream, &context) == CUDA_SUCCESS &&
            driver->ctx_push_current(context) == CUDA_SUCCESS;
}

StreamContext::~StreamContext() {
  CUcontext context = nullptr;
  RealCallGuard guard;
  if (pushed_) {
    driver_api()->ctx_pop_current(&context);
  }
}

bool is_default_stream(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

int device_of(CUstream stream) {
  const StreamContext context(stream);
  return context.is_current() ? current_device() : -1;
}

std::string bus_id_of(int device) {
  const DriverApi* driver = driver_api();
  char text[64] = {};
  RealCallGuard guard;
  if (driver == nullptr ||
      driver->device_get_pci_bus_id(text, sizeof(text), device) != CUDA_SUCCESS) {
    return "";
  }
  std::string bus_id(text);
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return bus_id;
}

bool is_capturing(CUstream stream) {
  const DriverApi* driver = driver_api();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  RealCallGuard guard;
  if (driver == nullptr || driver->stream_is_capturing(stream, &status) != CUDA_SUCCESS) {
    return true;
  }
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace braid::interposer
