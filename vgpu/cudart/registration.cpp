// What nvcc's host code calls when a program or library with device code is loaded and unloaded.
//
// No device code is ever read: a kernel is its name, and its meaning is a host implementation found
// by that name at launch (vgpu/core/kernel_registry.hpp).
#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "vgpu/core/kernel_launch.hpp"
#include "vgpu/cudart/kernel_table.hpp"
#include "vgpu/cudart/runtime.hpp"

namespace braid::vgpu::cudart {
namespace {

/// One registered fat binary: what to forget when it is unloaded.
struct Binary {
  void* device_code;  // the handle's first word, as programs see it
  std::vector<const void*> kernels;
  std::vector<const void*> variables;
};

struct Tables {
  std::mutex mutex;
  std::unordered_map<const void*, CUfunction> kernels;
  std::unordered_map<const void*, std::string> variables;
};

Tables& tables() {
  static auto* instance = new Tables;  // never destroyed: libraries unregister from exit handlers
  return *instance;
}

}  // namespace

CUfunction find_kernel(const void* symbol) {
  {
    Tables& all = tables();
    const std::lock_guard lock(all.mutex);
    const auto found = all.kernels.find(symbol);
    if (found != all.kernels.end()) {
      return found->second;
    }
  }
  auto* handle = static_cast<CUfunction>(const_cast<void*>(symbol));
  return handle != nullptr && name_of(handle) != nullptr ? handle : nullptr;
}

std::string variable_name(const void* symbol) {
  Tables& all = tables();
  const std::lock_guard lock(all.mutex);
  const auto found = all.variables.find(symbol);
  return found == all.variables.end() ? std::string() : found->second;
}

}  // namespace braid::vgpu::cudart

using namespace braid::vgpu::cudart;

CUDART_API void** __cudaRegisterFatBinary(void* device_code) {
  auto* binary = new Binary{device_code, {}, {}};
  return &binary->device_code;
}

CUDART_API void __cudaRegisterFatBinaryEnd(void** handle) { (void)handle; }

CUDART_API void __cudaUnregisterFatBinary(void** handle) {
  if (handle == nullptr) {
    return;
  }
  auto* binary = reinterpret_cast<Binary*>(handle);
  Tables& all = tables();
  {
    const std::lock_guard lock(all.mutex);
    for (const void* kernel : binary->kernels) {
      all.kernels.erase(kernel);
    }
    for (const void* variable : binary->variables) {
      all.variables.erase(variable);
    }
  }
  delete binary;
}

CUDART_API void __cudaRegisterFunction(void** handle, const char* host_function,
                                       char* device_function, const char* device_name,
                                       int thread_limit, uint3* thread, uint3* block,
                                       dim3* block_size, dim3* grid_size, int* warp_size) {
  (void)device_function;
  (void)thread_limit;
  (void)thread;
  (void)block;
  (void)block_size;
  (void)grid_size;
  (void)warp_size;
  const CUfunction function = braid::vgpu::find_function(device_name);
  Tables& all = tables();
  const std::lock_guard lock(all.mutex);
  all.kernels[host_function] = function;
  reinterpret_cast<Binary*>(handle)->kernels.push_back(host_function);
}

CUDART_API void __cudaRegisterVar(void** handle, char* host_variable, char* device_address,
                                  const char* device_name, int external, size_t size, int constant,
                                  int global) {
  (void)device_address;
  (void)external;
  (void)size;
  (void)constant;
  (void)global;
  Tables& all = tables();
  const std::lock_guard lock(all.mutex);
  all.variables[host_variable] = device_name;
  reinterpret_cast<Binary*>(handle)->variables.push_back(host_variable);
}

CUDART_API void __cudaRegisterHostVar(void** handle, const char* device_name, char* host_variable,
                                      size_t size) {
  __cudaRegisterVar(handle, host_variable, nullptr, device_name, 0, size, 0, 0);
}

CUDART_API void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* device_address,
                                         const char* device_name, int external, size_t size,
                                         int constant, int global) {
  __cudaRegisterVar(handle, reinterpret_cast<char*>(host_pointer), device_address, device_name,
                    external, size, constant, global);
}

CUDART_API char __cudaInitModule(void** handle) {
  (void)handle;
  return 1;
}

CUDART_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  if (kernel == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *kernel = reinterpret_cast<cudaKernel_t>(find_kernel(host_function));
  return finish(*kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess);
}

CUDART_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return __cudaGetKernel(kernel, host_function);
}

CUDART_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  if (function == nullptr) {
    return finish(cudaErrorInvalidValue);
  }
  *function = find_kernel(symbol);
  return finish(*function == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess);
}
