// A collective as the program called it, and the real call that makes a part of it.
#pragma once

#include <cuda.h>
#include <nccl.h>

#include <cstdint>

#include "interposer/plan_table.hpp"
#include "interposer/split_gemm.hpp"
#include "model/trace_format.hpp"

namespace braid::interposer {

struct CollectiveCall {
  model::trace::CollectiveFunction function{};
  const void* send = nullptr;
  void* receive = nullptr;
  uint64_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;  // or peer
  ncclComm_t communicator = nullptr;
  CUstream stream = nullptr;

  Signature signature() const;
  uint64_t element_bytes() const;
  /// Memory read and written by an AllReduce.
  MemoryRange input() const;
  MemoryRange output() const;
};

/// Bytes of an NCCL datatype; 0 for one we do not know.
uint64_t bytes_of(ncclDataType_t type);
/// The trace's name for it.
model::trace::ElementType element_type_of(ncclDataType_t type);

/// Makes the real call for elements [begin, end) on `stream`, inside a RealCallGuard. AllReduce
/// only: no other collective may be cut at any element.
ncclResult_t call_all_reduce_part(const CollectiveCall& call, uint64_t begin, uint64_t end,
                                  CUstream stream);

}  // namespace braid::interposer
