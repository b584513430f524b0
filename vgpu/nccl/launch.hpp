// A launch: what one group leaves to be done on one rank's device, as a piece of device work.
#pragma once

#include <vector>

#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/operation.hpp"

namespace braid::vgpu::nccl {

/// The operations of one launch, decided and ready to run.
struct LaunchContent {
  std::vector<CollectiveOperation> collectives;
  std::vector<MessageOperation> messages;
  std::vector<CUstream> streams;  // of the calls, each once; the first carries the launch
  int channels = 1;               // thread blocks, one SM share each
};

/// Enqueues a launch behind the communicator's previous one. All of its streams wait for it, and it
/// for all of them. ncclUnhandledCudaError when a stream is bad or the device is in an error state.
ncclResult_t enqueue_launch(const CommunicatorRef& communicator, LaunchContent content);

}  // namespace braid::vgpu::nccl
