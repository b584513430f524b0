// __device__ and __constant__ variables. Virtual GPUs have none, since no device code is loaded:
// every use is refused by the variable's name.
#include <string>

#include "vgpu/cudart/kernel_table.hpp"
#include "vgpu/cudart/runtime.hpp"

using namespace braid::vgpu::cudart;

namespace {

cudaError_t refuse_variable(const char* function, const void* symbol) {
  const std::string name = variable_name(symbol);
  if (name.empty()) {
    return finish(cudaErrorInvalidSymbol);
  }
  return refuse(function, ("device variable '" + name +
                           "' has no memory there; pass the data as a kernel argument")
                              .c_str());
}

}  // namespace

CUDART_API cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  (void)pointer;
  return refuse_variable("cudaGetSymbolAddress", symbol);
}

CUDART_API cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  (void)size;
  return refuse_variable("cudaGetSymbolSize", symbol);
}

CUDART_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes,
                                          size_t offset, cudaMemcpyKind kind) {
  (void)source;
  (void)bytes;
  (void)offset;
  (void)kind;
  return refuse_variable("cudaMemcpyToSymbol", symbol);
}

CUDART_API cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes,
                                            size_t offset, cudaMemcpyKind kind) {
  (void)destination;
  (void)bytes;
  (void)offset;
  (void)kind;
  return refuse_variable("cudaMemcpyFromSymbol", symbol);
}

CUDART_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes,
                                               size_t offset, cudaMemcpyKind kind,
                                               cudaStream_t stream) {
  (void)source;
  (void)bytes;
  (void)offset;
  (void)kind;
  (void)stream;
  return refuse_variable("cudaMemcpyToSymbolAsync", symbol);
}

CUDART_API cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol,
                                                 size_t bytes, size_t offset, cudaMemcpyKind kind,
                                                 cudaStream_t stream) {
  (void)destination;
  (void)bytes;
  (void)offset;
  (void)kind;
  (void)stream;
  return refuse_variable("cudaMemcpyFromSymbolAsync", symbol);
}
