// Driver entry points by name.
#include "vgpu/core/vgpu.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

static_assert(cudaDriverEntryPointSymbolNotFound ==
              static_cast<int>(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
static_assert(cudaDriverEntryPointVersionNotSufficent ==
              static_cast<int>(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));

CUDART_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                        unsigned int version,
                                                        unsigned long long flags,
                                                        cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  const CUresult ready = prepare_driver();
  if (ready != CUDA_SUCCESS) {
    return finish(ready);
  }
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result =
      cuGetProcAddress(symbol, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) {
    *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  }
  if (found != CU_GET_PROC_ADDRESS_SUCCESS) {
    *function = nullptr;
    return finish(status != nullptr || result == CUDA_SUCCESS ? CUDA_SUCCESS : result);
  }
  return finish(result);
}

CUDART_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                               unsigned long long flags,
                                               cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
