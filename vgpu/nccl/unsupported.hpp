// What the virtual NCCL does not do, said clearly.
#pragma once

#include "vgpu/nccl/log.hpp"

namespace braid::vgpu::nccl {

/// ncclInvalidUsage, and a message that names the function for ncclGetLastError.
inline ncclResult_t refuse_unsupported(const char* function) {
  return reject(ncclInvalidUsage,
                "%s : symmetric memory windows and the device API do not exist on virtual GPUs",
                function);
}

}  // namespace braid::vgpu::nccl
