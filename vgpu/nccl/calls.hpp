// A call of a collective or a message, from its arguments to a member of the thread's group.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "tuner_plugin/abi/common.hpp"

namespace braid::vgpu::nccl {

/// Arguments of any of NCCL's communication functions; those a function lacks stay as they are.
struct Call {
  abi::Function function = abi::kAllReduce;
  const char* name = "";  // exported name, for messages
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  ncclDataType_t datatype = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;  // or the peer of a message
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
};

/// Checks the arguments as NCCL does (with NCCL_CHECK_POINTERS=1 the buffers as well), adds the
/// call to the group and closes the group when the call is not inside one of the user's.
ncclResult_t make_call(const Call& call);

}  // namespace braid::vgpu::nccl
