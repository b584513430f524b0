// Where ranks meet while work runs: collectives by number, messages by pair and number.
//
// All functions run under the communicator's step_mutex and never block.
#pragma once

#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/operation.hpp"

namespace braid::vgpu::nccl {

/// Posts this rank's part of its next collective: buffers are checked, an out-of-place receive
/// buffer becomes undefined, and the rank that arrives last carries the collective out for all.
/// Different calls under one number fail the communicator with ncclInvalidUsage on all ranks and a
/// message that names both. False: the communicator has failed.
bool post_collective(Communicator& communicator, const CollectiveOperation& operation);

/// Whether the collective posted last is complete; if so the next one may be posted.
bool collect_collective(Communicator& communicator);

/// A message on its way: one side's ticket.
struct MessageTicket {
  uint64_t number = 0;
};
/// Posts one side of the next message of this pair and direction; the second side copies. Different
/// sizes fail the communicator with ncclInvalidUsage.
bool post_message(Communicator& communicator, const MessageOperation& operation,
                  MessageTicket* ticket);
bool is_delivered(const Communicator& communicator, const MessageOperation& operation,
                  const MessageTicket& ticket);

}  // namespace braid::vgpu::nccl
