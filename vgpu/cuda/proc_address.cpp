// cuGetProcAddress: functions by name, CUDA version and default-stream flavour.
#include <cuda.h>

#include <string_view>

#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

struct Row {
  std::string_view name;
  int version;  // first CUDA version with this form: 11040
  void* symbol;
  void* per_thread;  // nullptr: makes no difference for this function
};

template <typename F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}
void* address_of(std::nullptr_t) { return nullptr; }

// Sorted by name, then version.
const Row kRows[] = {
#define PROC(name, version, symbol, per_thread) \
  {#name, version, address_of(symbol), address_of(per_thread)},
#include "vgpu/cuda/proc_table.inc"
#undef PROC
};

CUdriverProcAddressQueryResult look_up(const char* symbol, int version, cuuint64_t flags,
                                       void** function) {
  const Row* best = nullptr;
  bool known = false;
  for (const Row& row : kRows) {
    if (row.name == symbol) {
      known = true;
      if (row.version <= version) {
        best = &row;
      }
    }
  }
  if (best == nullptr) {
    *function = nullptr;
    return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *function = per_thread && best->per_thread != nullptr ? best->per_thread : best->symbol;
  return CU_GET_PROC_ADDRESS_SUCCESS;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kFlags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || function == nullptr || (flags & ~kFlags) != 0 || flags == kFlags) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUdriverProcAddressQueryResult result = look_up(symbol, version, flags, function);
  if (status != nullptr) {
    *status = result;
  }
  return result == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return driver::cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

}  // namespace braid::vgpu::driver
