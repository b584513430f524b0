// Kernel launches. A CUkernel is the same handle as its CUfunction here.
#include <cuda.h>

#include "vgpu/core/kernel_launch.hpp"
#include "vgpu/cuda/driver_support.hpp"

namespace braid::vgpu::driver {
namespace {

CUresult launch_with(const LaunchRequest& request, void** extra) {
  if (extra != nullptr) {
    report_once(
        "a kernel was launched with `extra` instead of kernelParams, which is not available "
        "on virtual GPUs (CUDA_ERROR_NOT_SUPPORTED)");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return launch_function(request);
}

LaunchRequest make_request(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, CUstream stream, void** arguments,
                           bool cooperative) {
  LaunchRequest request;
  request.function = function;
  request.shape.grid[0] = grid_x;
  request.shape.grid[1] = grid_y;
  request.shape.grid[2] = grid_z;
  request.shape.block[0] = block_x;
  request.shape.block[1] = block_y;
  request.shape.block[2] = block_z;
  request.shape.shared_bytes = shared_bytes;
  request.stream = stream;
  request.arguments = arguments;
  request.cooperative = cooperative;
  return request;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void** arguments, void** extra) {
  return launch_with(make_request(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                  shared_bytes, stream, arguments, false),
                     extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                   void** arguments) {
  return launch_with(make_request(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                  shared_bytes, stream, arguments, true),
                     nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void** extra) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        break;  // allows or prefers something; the order of the stream stays right without it
      default:
        report_once("cuLaunchKernelEx: launch attribute " + std::to_string(attribute.id) +
                    " is not available on virtual GPUs (CUDA_ERROR_NOT_SUPPORTED)");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return launch_with(make_request(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                  config->blockDimX, config->blockDimY, config->blockDimZ,
                                  config->sharedMemBytes, config->hStream, arguments, cooperative),
                     extra);
}

}  // namespace braid::vgpu::driver
