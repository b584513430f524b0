// Groups: what a thread collects between ncclGroupStart and ncclGroupEnd, and what happens at the
// end.
//
// Every call is a group of its own when none is open. Initialisations run first, each on its own
// thread (an ungrouped, blocking one on the caller's); then every communicator's operations become
// one launch. With nonblocking communicators all of it runs on a background thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/operation.hpp"

namespace braid::vgpu::nccl {

/// Work that a group carries out besides launches: initialise, split, shrink, finalize.
struct CommunicatorJob {
  std::function<ncclResult_t()> work;
  std::vector<CommunicatorRef> communicators;  // that it concerns; decide whether it blocks
  int device = 0;                              // current while it runs
};

/// ncclGroupStart.
ncclResult_t open_group();
/// ncclGroupEnd. An error of a call inside the group is the result, and nothing of it is done.
ncclResult_t close_group();
/// ncclGroupSimulateEnd: models the group and drops it. `time_us` becomes the time of the slowest
/// communicator.
ncclResult_t close_group_simulated(double* time_us);

/// Number of groups the calling thread has open.
int group_depth();

/// A call inside a group failed: the group's end will report it.
void note_group_error(ncclResult_t result);

/// Adds to the thread's group, which must be open.
void add_job(CommunicatorJob job);
void add_collective(const CommunicatorRef& communicator, const CollectiveOperation& operation,
                    CUstream stream);
void add_message(const CommunicatorRef& communicator, const MessageOperation& operation,
                 CUstream stream);

/// Runs a job at once when the thread has no group open, else at the group's end. `ncclInProgress`
/// when it was handed to a background thread.
ncclResult_t submit_job(CommunicatorJob job);

/// The event of the user's group (or of the single call), parent of API events; null without one.
void* group_api_event(const CommunicatorRef& communicator);

}  // namespace braid::vgpu::nccl
