// Starting the driver, its version, and the names of errors.
#include <cuda.h>

#include "vgpu/cuda/driver_support.hpp"
#include "vgpu/cuda/entry_support.hpp"

namespace braid::vgpu::driver {
namespace {

struct ErrorRow {
  CUresult value;
  const char* name;
  const char* text;
};

constexpr ErrorRow kErrors[] = {
#define ERROR(name, text) {name, #name, text},
#include "vgpu/cuda/errors.inc"
#undef ERROR
};

const ErrorRow* find_error(CUresult value) {
  for (const ErrorRow& row : kErrors) {
    if (row.value == value) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

CUresult report_unsupported(const char* function) {
  report_once(std::string(function) +
              " is not available on virtual GPUs (CUDA_ERROR_NOT_SUPPORTED)");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuInit(unsigned int flags) { return flags != 0 ? CUDA_ERROR_INVALID_VALUE : initialize(); }

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  const ErrorRow* row = find_error(error);
  if (name == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *name = row == nullptr ? nullptr : row->name;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  const ErrorRow* row = find_error(error);
  if (text == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *text = row == nullptr ? nullptr : row->text;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Export tables are private interfaces between NVIDIA's libraries; there are none here.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) {
    *table = nullptr;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace braid::vgpu::driver
