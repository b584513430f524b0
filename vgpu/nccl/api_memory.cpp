// Exported functions about memory: allocation, registration, windows.
#include <dlfcn.h>

#include <cstdint>

#include "vgpu/nccl/api.hpp"
#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/unsupported.hpp"

namespace nccl = braid::vgpu::nccl;

namespace {

/// The driver's functions, found as NCCL finds them: by name in libcuda.so.1.
struct Driver {
  CUresult (*allocate)(CUdeviceptr*, size_t) = nullptr;
  CUresult (*release)(CUdeviceptr) = nullptr;
};

const Driver& driver() {
  static const Driver found = [] {
    Driver functions;
    if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
      functions.allocate =
          reinterpret_cast<decltype(functions.allocate)>(dlsym(library, "cuMemAlloc_v2"));
      functions.release =
          reinterpret_cast<decltype(functions.release)>(dlsym(library, "cuMemFree_v2"));
    }
    return functions;
  }();
  return found;
}

}  // namespace

BRAID_NCCL_API(ncclResult_t, ncclMemAlloc, void** ptr, size_t size) {
  if (ptr == nullptr || size == 0) {
    return nccl::reject(ncclInvalidArgument, "ncclMemAlloc : ptr %p size %zu",
                        static_cast<void*>(ptr), size);
  }
  *ptr = nullptr;
  if (driver().allocate == nullptr) {
    return nccl::reject(ncclSystemError,
                        "ncclMemAlloc : libcuda.so.1 or its cuMemAlloc_v2 was not found");
  }
  // A context for the thread's device, as NCCL makes with its first runtime call.
  braid::vgpu::set_current_device(braid::vgpu::current_device());
  CUdeviceptr address = 0;
  const CUresult result = driver().allocate(&address, size);
  if (result != CUDA_SUCCESS) {
    return nccl::reject(ncclUnhandledCudaError, "Cuda failure %d: %zu bytes were not allocated",
                        static_cast<int>(result), size);
  }
  *ptr = reinterpret_cast<void*>(address);
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclMemFree, void* ptr) {
  if (ptr == nullptr) {
    return ncclSuccess;
  }
  if (driver().release == nullptr ||
      driver().release(reinterpret_cast<CUdeviceptr>(ptr)) != CUDA_SUCCESS) {
    return nccl::reject(ncclUnhandledCudaError, "ncclMemFree : %p could not be freed", ptr);
  }
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclCommRegister, const ncclComm_t comm, void* buff, size_t size,
               void** handle) {
  nccl::CommunicatorRef communicator;
  BRAID_NCCL_TRY(nccl::find_communicator(comm, "ncclCommRegister", &communicator));
  if (buff == nullptr || size == 0 || handle == nullptr) {
    return nccl::reject(ncclInvalidArgument, "ncclCommRegister : buff %p size %zu handle %p", buff,
                        size, static_cast<void*>(handle));
  }
  std::lock_guard lock(communicator->mutex);
  *handle = reinterpret_cast<void*>(++communicator->next_registration);
  communicator->registrations.emplace(*handle, size);
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclCommDeregister, const ncclComm_t comm, void* handle) {
  nccl::CommunicatorRef communicator;
  BRAID_NCCL_TRY(nccl::find_communicator(comm, "ncclCommDeregister", &communicator));
  std::lock_guard lock(communicator->mutex);
  if (handle != nullptr && communicator->registrations.erase(handle) == 0) {
    return nccl::reject(ncclInvalidUsage,
                        "ncclCommDeregister : handle %p is not registered with this communicator",
                        handle);
  }
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclCommWindowRegister, ncclComm_t, void*, size_t, ncclWindow_t* win,
               int) {
  if (win != nullptr) {
    *win = nullptr;
  }
  return nccl::refuse_unsupported("ncclCommWindowRegister");
}

BRAID_NCCL_API(ncclResult_t, ncclCommWindowDeregister, ncclComm_t, ncclWindow_t) {
  return nccl::refuse_unsupported("ncclCommWindowDeregister");
}
