// Operations as they are called, before and after it is decided how they travel.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <string>

#include "config/policy.hpp"
#include "tuner_plugin/abi/common.hpp"
#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/reduction.hpp"

namespace braid::vgpu::nccl {

/// A collective of one rank.
struct CollectiveOperation {
  abi::Function function = abi::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;  // as the call has it
  ncclDataType_t datatype = ncclFloat32;
  ReductionKind operation = ReductionKind::kSum;
  UserOperator scalar;  // pre-multiplier of kPreMultiplied and of float averages
  int root = 0;

  // Decided when the group is closed.
  int algorithm = 0;
  int protocol = 0;
  int channels = 1;
  uint64_t sequence = 0;  // number of the collective on its communicator

  void* api_event = nullptr;  // profiler events
  void* event = nullptr;
};

/// One side of a message between two ranks.
struct MessageOperation {
  bool is_send = false;
  void* buffer = nullptr;
  size_t count = 0;
  size_t bytes = 0;
  ncclDataType_t datatype = ncclInt8;
  int peer = 0;

  void* api_event = nullptr;
  void* event = nullptr;
};

/// A rank's buffers in a collective.
struct BufferSizes {
  size_t send = 0;     // bytes this rank reads; 0: it needs no send buffer
  size_t receive = 0;  // bytes this rank writes
};
BufferSizes buffer_sizes(const CollectiveOperation& operation, int rank, int ranks);

/// Bytes as NCCL's cost model and nccl-tests count them.
size_t model_bytes(const CollectiveOperation& operation, int ranks);

config::Collective model_collective(abi::Function function);
bool is_reducing(abi::Function function);

}  // namespace braid::vgpu::nccl
