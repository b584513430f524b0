#include "vgpu/core/kernel_launch.hpp"

#include <cupti.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "config/environment.hpp"
#include "vgpu/core/callback_hub.hpp"
#include "vgpu/core/context.hpp"
#include "vgpu/core/process.hpp"
#include "vgpu/core/stream.hpp"

namespace braid::vgpu {
namespace {

constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kStaticSharedLimit = 48 * 1024;
constexpr size_t kArgumentAlignment = 16;

struct Function {
  std::string name;
  const braid_host_kernel* kernel = nullptr;  // nullptr: ask the registry
  std::map<CUfunction_attribute, int> attributes;
};

struct Functions {
  std::mutex mutex;
  std::unordered_map<std::string, Function*> by_name;
  std::unordered_map<CUfunction, Function*> by_handle;
};

Functions& functions() {
  static Functions& instance = *new Functions;
  return instance;
}

// Arguments of one launch: a copy of the bytes, and the pointers a host kernel expects.
struct Arguments {
  std::vector<std::max_align_t> storage;
  std::vector<void*> pointers;
};

Arguments copy_arguments(const braid_host_kernel& kernel, void** arguments) {
  Arguments out;
  const auto padded = [](size_t bytes) {
    return (bytes + kArgumentAlignment - 1) / kArgumentAlignment * kArgumentAlignment;
  };
  size_t total = 0;
  for (size_t i = 0; i < kernel.argument_count; ++i) {
    total += padded(kernel.argument_bytes[i]);
  }
  out.storage.resize(total / sizeof(std::max_align_t) + 1);
  auto* cursor = reinterpret_cast<std::byte*>(out.storage.data());
  for (size_t i = 0; i < kernel.argument_count; ++i) {
    std::memcpy(cursor, arguments[i], kernel.argument_bytes[i]);
    out.pointers.push_back(cursor);
    cursor += padded(kernel.argument_bytes[i]);
  }
  return out;
}

std::string describe(const KernelShape& shape) {
  const auto triple = [](const unsigned(&v)[3]) {
    return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) +
           ")";
  };
  return "kernel " + shape.name + ", grid " + triple(shape.grid) + ", block " + triple(shape.block);
}

bool is_valid_shape(const KernelShape& shape) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.block[i] == 0) {
      return false;
    }
    threads *= shape.block[i];
  }
  return threads <= kMaxThreadsPerBlock && shape.grid[0] <= 0x7fffffffu &&
         shape.grid[1] <= 65535u && shape.grid[2] <= 65535u;
}

int count_blocks(const KernelShape& shape) {
  const uint64_t blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  return static_cast<int>(std::min<uint64_t>(blocks, 1u << 20));
}

// The step that carries out the kernel; empty when there is nothing to compute.
CUresult make_step(const Function& function, const LaunchRequest& request, const KernelShape& shape,
                   std::function<Step()>* step) {
  const braid_host_kernel* kernel =
      function.kernel != nullptr ? function.kernel : find_host_kernel(function.name);
  if (kernel == nullptr) {
    if (config::environment().vgpu_kernels == config::UnknownKernels::kSkip) {
      report_once("skipped: " + describe(shape) + " has no host implementation");
      return CUDA_SUCCESS;
    }
    report_once(describe(shape) +
                " has no host implementation; name a library that has one in "
                "BRAID_VGPU_KERNEL_PATH, or set BRAID_VGPU_KERNELS=skip");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (kernel->argument_count > 0 && request.arguments == nullptr) {
    report_once(describe(shape) + ": arguments must be given as kernelParams");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!compute_enabled()) {
    return CUDA_SUCCESS;
  }
  auto arguments = std::make_shared<Arguments>(copy_arguments(*kernel, request.arguments));
  braid_launch_shape launch_shape{};
  std::copy(std::begin(shape.grid), std::end(shape.grid), launch_shape.grid);
  std::copy(std::begin(shape.block), std::end(shape.block), launch_shape.block);
  launch_shape.shared_bytes = shape.shared_bytes;
  *step = [kernel, arguments, launch_shape] {
    kernel->run(&launch_shape, arguments->pointers.data());
    return Step::kDone;
  };
  return CUDA_SUCCESS;
}

Function* find(CUfunction handle) {
  const std::lock_guard lock(functions().mutex);
  const auto found = functions().by_handle.find(handle);
  return found == functions().by_handle.end() ? nullptr : found->second;
}

}  // namespace

CUfunction find_function(const std::string& name, const braid_host_kernel* kernel) {
  const std::lock_guard lock(functions().mutex);
  Function*& function = functions().by_name[name];
  if (function == nullptr) {
    function = new Function{name, kernel, {}};
    functions().by_handle[reinterpret_cast<CUfunction>(function)] = function;
  } else if (kernel != nullptr) {
    function->kernel = kernel;
  }
  return reinterpret_cast<CUfunction>(function);
}

const char* name_of(CUfunction handle) {
  const Function* function = find(handle);
  return function == nullptr ? nullptr : function->name.c_str();
}

CUresult get_function_attribute(CUfunction handle, CUfunction_attribute attribute, int* value) {
  const Function* function = find(handle);
  if (function == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (value == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(functions().mutex);
  const auto set = function->attributes.find(attribute);
  if (set != function->attributes.end()) {
    *value = set->second;
    return CUDA_SUCCESS;
  }
  const int capability = devices()[static_cast<size_t>(current_device())].compute_capability;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = kMaxThreadsPerBlock;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = capability;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = kStaticSharedLimit;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = -1;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  Function* function = find(handle);
  if (function == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: {
      const std::lock_guard lock(functions().mutex);
      function->attributes[attribute] = value;
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult launch_function(const LaunchRequest& request) {
  const Function* function = find(request.function);
  if (function == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  KernelShape shape = request.shape;
  shape.name = function->name;
  if (!is_valid_shape(shape)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  StreamRef stream;
  if (const CUresult error = find_stream(request.stream, &stream); error != CUDA_SUCCESS) {
    return error;
  }
  const int sms = devices()[static_cast<size_t>(stream->device)].sm_count;
  // The blocks of a cooperative kernel wait for each other, so all must run at once.
  if (request.cooperative && count_blocks(shape) > sms) {
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  Work work;
  work.name = shape.name;
  work.shares = request.cooperative ? count_blocks(shape) : 1;
  if (const CUresult error = make_step(*function, request, shape, &work.step);
      error != CUDA_SUCCESS) {
    return error;
  }
  return enqueue_operation(stream, std::move(work), {}, nullptr);
}

CUresult launch(CUstream stream, const KernelShape& shape, Work work, WorkHandle* handle) {
  if (!callback_enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)) {
    return enqueue(stream, std::move(work), handle);
  }
  cuLaunchKernel_params parameters{};
  parameters.f = find_function(shape.name);
  parameters.gridDimX = shape.grid[0];
  parameters.gridDimY = shape.grid[1];
  parameters.gridDimZ = shape.grid[2];
  parameters.blockDimX = shape.block[0];
  parameters.blockDimY = shape.block[1];
  parameters.blockDimZ = shape.block[2];
  parameters.sharedMemBytes = shape.shared_bytes;
  parameters.hStream = stream;
  CallbackScope scope(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", &parameters,
                      name_of(parameters.f));
  return scope.finish(enqueue(stream, std::move(work), handle));
}

}  // namespace braid::vgpu
