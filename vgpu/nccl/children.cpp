// Communicators made from others; see initialization.hpp.
#include <algorithm>
#include <tuple>

#include "vgpu/nccl/group.hpp"
#include "vgpu/nccl/initialization.hpp"
#include "vgpu/nccl/lifecycle.hpp"
#include "vgpu/nccl/log.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr uint64_t kFirstShrink = 1ull << 63;  // tells shrinks from splits

/// All members of a child compute the same key from what they know of the parent.
CommunicatorKey child_key(const Communicator& parent, uint64_t number, uint64_t what) {
  uint64_t low = 0x9e3779b97f4a7c15 * (number + 1);
  low = (low ^ (low >> 31)) + what * 0xff51afd7ed558ccd;
  return {0x6368696c64000000 ^ (parent.shared().generation * 0xc2b2ae3d27d4eb4f), low};
}

ncclResult_t make_child(const CommunicatorRef& parent, const ncclConfig_t* config,
                        CommunicatorRef* child) {
  auto made = std::make_shared<Communicator>();
  BRAID_NCCL_TRY(read_config(config, &parent->config, &made->config));
  made->device = parent->device;
  *child = std::move(made);
  return ncclSuccess;
}

/// Finishes a child's start on behalf of a job.
ncclResult_t start_child(const CommunicatorRef& child, ncclComm_t* handle) {
  const ncclResult_t result = start_communicator(*child);
  if (result != ncclSuccess && child->config.blocking) {
    remove_communicator(child);
    *handle = nullptr;
  }
  return result;
}

struct SplitVote {
  int color;
  int key;
};

ncclResult_t run_split(const CommunicatorRef& parent, const CommunicatorRef& child, SplitVote vote,
                       ncclComm_t* handle) {
  std::vector<SplitVote> votes(static_cast<size_t>(parent->ranks));
  CommunicatorKey key;
  ncclResult_t met = ncclSuccess;
  {
    const CallerScope caller(*parent);
    if (parent->aborted) {
      met = ncclInvalidUsage;
    } else {
      key = child_key(*parent, parent->splits++, static_cast<uint64_t>(vote.color));
      met = exchange(*parent, &vote, sizeof(vote), votes.data());
    }
  }
  if (met != ncclSuccess || child == nullptr) {
    if (child != nullptr) {
      remove_communicator(child);
      *handle = nullptr;
    }
    return met;
  }
  std::vector<int> members;
  for (int rank = 0; rank < parent->ranks; ++rank) {
    if (votes[static_cast<size_t>(rank)].color == vote.color) {
      members.push_back(rank);
    }
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return votes[static_cast<size_t>(a)].key < votes[static_cast<size_t>(b)].key;
  });
  child->ranks = static_cast<int>(members.size());
  child->rank =
      static_cast<int>(std::find(members.begin(), members.end(), parent->rank) - members.begin());
  child->key = key;
  if (child->config.split_share) {
    child->channel_limit = static_cast<int>(parent->plan.ring_channels.size());
  }
  return start_child(child, handle);
}

}  // namespace

ncclResult_t split(ncclComm_t parent_handle, int color, int key, ncclComm_t* handle,
                   const ncclConfig_t* config) {
  CommunicatorRef parent;
  BRAID_NCCL_TRY(find_ready_communicator(parent_handle, "ncclCommSplit", &parent));
  if (handle == nullptr) {
    return reject(ncclInvalidArgument, "ncclCommSplit : newcomm argument is NULL");
  }
  *handle = nullptr;
  if (color < NCCL_SPLIT_NOCOLOR) {
    return reject(ncclInvalidArgument,
                  "ncclCommSplit : invalid color %d (expected NCCL_SPLIT_NOCOLOR, 0 or more)",
                  color);
  }
  CommunicatorRef child;
  CommunicatorJob job;
  job.communicators = {parent};
  job.device = parent->device;
  if (color != NCCL_SPLIT_NOCOLOR) {
    BRAID_NCCL_TRY(make_child(parent, config, &child));
    add_communicator(child);
    *handle = handle_of(child);
    if (child->config.blocking == parent->config.blocking) {
      job.communicators.push_back(child);
    }
  }
  job.work = [parent, child, color, key, handle] {
    return run_split(parent, child, {color, key}, handle);
  };
  return submit_job(std::move(job));
}

ncclResult_t shrink(ncclComm_t parent_handle, const int* excluded, int excluded_count,
                    ncclComm_t* handle, const ncclConfig_t* config, int flags) {
  CommunicatorRef parent;
  BRAID_NCCL_TRY(find_communicator(parent_handle, "ncclCommShrink", &parent));
  if (handle == nullptr || excluded == nullptr || excluded_count < 1 ||
      (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT)) {
    return reject(
        ncclInvalidArgument,
        "ncclCommShrink : newcomm %p, list %p of %d ranks, flags %d (expected a list of at "
        "least one rank and NCCL_SHRINK_DEFAULT or NCCL_SHRINK_ABORT)",
        static_cast<void*>(handle), static_cast<const void*>(excluded), excluded_count, flags);
  }
  *handle = nullptr;
  std::vector<int> gone(excluded, excluded + excluded_count);
  std::sort(gone.begin(), gone.end());
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  const auto is_gone = [&](int rank) { return std::binary_search(gone.begin(), gone.end(), rank); };
  if (gone.front() < 0 || gone.back() >= parent->ranks ||
      static_cast<int>(gone.size()) == parent->ranks || is_gone(parent->rank)) {
    return reject(ncclInvalidArgument,
                  "ncclCommShrink : rank %d of %d may not exclude itself, all ranks, or ranks that "
                  "do not exist",
                  parent->rank, parent->ranks);
  }
  if (flags == NCCL_SHRINK_ABORT) {
    stop_operations(*parent);
  } else {
    BRAID_NCCL_TRY(find_ready_communicator(parent_handle, "ncclCommShrink", &parent));
  }
  CommunicatorRef child;
  BRAID_NCCL_TRY(make_child(parent, config, &child));
  uint64_t what = 1;
  for (int rank = 0; rank < parent->ranks; ++rank) {
    what = what * 31 + (is_gone(rank) ? 1 : 0);
    if (!is_gone(rank)) {
      child->rank += rank < parent->rank ? 1 : 0;
      ++child->ranks;
    }
  }
  {
    // Excluded ranks take no part, so all that is common is how often this set was excluded.
    std::lock_guard lock(parent->mutex);
    child->key = child_key(*parent, kFirstShrink + parent->shrinks[what]++, what);
  }
  if (child->config.shrink_share) {
    child->channel_limit = static_cast<int>(parent->plan.ring_channels.size());
  }
  add_communicator(child);
  *handle = handle_of(child);
  return submit_job(
      {[child, handle] { return start_child(child, handle); }, {child}, parent->device});
}

}  // namespace braid::vgpu::nccl
