// Names and descriptions of the runtime's errors.
#include <algorithm>
#include <iterator>

#include "vgpu/cudart/runtime.hpp"

namespace {

struct ErrorName {
  int code;
  const char* name;
};

constexpr ErrorName kErrorNames[] = {
#include "cudart/error_names.inc"
};

struct ErrorText {
  cudaError_t code;
  const char* text;
};

// Codes the driver has no words for, and those whose description programs commonly print.
constexpr ErrorText kErrorTexts[] = {
    {cudaSuccess, "no error"},
    {cudaErrorInvalidConfiguration, "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "invalid device symbol"},
    {cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDeviceFunction, "invalid device function"},
    {cudaErrorMissingConfiguration, "__global__ function call is not configured"},
    {cudaErrorInvalidHostPointer, "invalid host pointer"},
    {cudaErrorInvalidDevicePointer, "invalid device pointer"},
    {cudaErrorStartupFailure, "startup failure in the CUDA runtime"},
    {cudaErrorApiFailureBase, "API failure"},
};

}  // namespace

CUDART_API const char* cudaGetErrorName(cudaError_t error) {
  const auto* found = std::find_if(std::begin(kErrorNames), std::end(kErrorNames),
                                   [error](const ErrorName& row) { return row.code == error; });
  return found == std::end(kErrorNames) ? "unrecognized error code" : found->name;
}

CUDART_API const char* cudaGetErrorString(cudaError_t error) {
  const auto* found = std::find_if(std::begin(kErrorTexts), std::end(kErrorTexts),
                                   [error](const ErrorText& row) { return row.code == error; });
  if (found != std::end(kErrorTexts)) {
    return found->text;
  }
  const char* text = nullptr;
  if (cuGetErrorString(static_cast<CUresult>(error), &text) == CUDA_SUCCESS && text != nullptr) {
    return text;
  }
  const char* name = cudaGetErrorName(error);
  return name;
}
