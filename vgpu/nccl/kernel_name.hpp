// What NCCL calls its kernels, for those who watch launches.
#pragma once

#include <string>
#include <vector>

#include "vgpu/nccl/operation.hpp"

namespace braid::vgpu::nccl {

/// The mangled device symbol of the launch, as in NCCL 2.28: built for the first collective, LL
/// whatever the protocol; ncclDevKernel_SendRecv without collectives.
std::string kernel_name(const std::vector<CollectiveOperation>& collectives);

}  // namespace braid::vgpu::nccl
