// ncclConfig_t, checked and merged with the variables that override it.
#pragma once

#include <nccl.h>

#include <string>

namespace braid::vgpu::nccl {

/// A communicator's configuration with every field decided.
struct CommunicatorConfig {
  bool blocking = true;
  int min_ctas = 0;  // 0: NCCL decides
  int max_ctas = 0;
  bool split_share = false;
  bool shrink_share = false;
  std::string name;
};

/// Checks `given` (null: nothing was given) as NCCL does: the magic number, then every field's
/// range; a wrong one is ncclInvalidArgument and named in the message. Fields left undefined come
/// from `inherited` (a parent's configuration) or are NCCL's defaults; NCCL_COMM_BLOCKING,
/// NCCL_MIN_CTAS, NCCL_MAX_CTAS and NCCL_COMM_SPLIT_SHARE_RESOURCES override. Structures of older,
/// shorter versions are understood.
ncclResult_t read_config(const ncclConfig_t* given, const CommunicatorConfig* inherited,
                         CommunicatorConfig* config);

}  // namespace braid::vgpu::nccl
