// Which elements of a collective travel on which channel and in which order of ranks they are
// summed.
//
// The rule, as in NCCL 2.28 (enqueue.cc and the device code of each algorithm):
//  1. A collective's elements are dealt to its channels in contiguous, equal parts, in cells of at
//     least 16 KiB of traffic (16-byte multiples); the last channel takes what is left. Traffic is
//     bytes × 2 for AllReduce, × ranks for AllGather and ReduceScatter, × 1 otherwise, and × 4
//     under LL. A collective of few cells uses fewer channels.
//  2. Ring AllReduce walks its part in loops of `ranks` chunks. A chunk holds half the channel's
//     buffer: 2 MiB with Simple (4 MiB buffer, 8 steps, 4 a chunk), 32 KiB with LL, 576 000 bytes
//     with LL128, rounded down to the protocol's grain. The last loop's chunks are an equal share
//     of what is left, rounded up to 16 bytes.
//  3. Ring positions are counted from rank 0. Chunk c starts at position c+1 and is complete, after
//     ranks-1 additions, at position c. A ReduceScatter block starts behind its owner and ends
//     there; Reduce starts behind the root and ends there.
//  4. Tree sums up the chain, from its end to its first rank.
// An aggregate's members are each dealt from channel 0; NCCL lets them follow one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/stock_nccl.hpp"

namespace braid::vgpu::nccl {

/// A run of elements summed in one order. For ReduceScatter and AllGather the range lies within
/// each rank's block; `block` is the rank the run belongs to (-1 for the others).
struct SummingRun {
  uint64_t begin = 0;
  uint64_t count = 0;
  int block = -1;
  const std::vector<int>* order = nullptr;  // ranks: the first feeds in, the last completes
};

struct ScheduleRequest {
  config::Collective collective = config::Collective::kAllReduce;
  int algorithm = model::kRing;
  int protocol = model::kSimple;
  int channels = 1;
  uint64_t count = 0;  // as the call has it
  size_t element_bytes = 4;
  int root = 0;
};

/// How many elements each channel carries (rule 1); no more entries than channels are used.
std::vector<uint64_t> deal_to_channels(const ScheduleRequest& request, int ranks);

/// Elements of a full ring AllReduce chunk (rule 2).
uint64_t chunk_elements(int protocol, size_t element_bytes);

/// Calls `visit` for every run of a reducing collective; runs do not overlap and cover everything.
void visit_summing_runs(const model::StockPlan& plan, const ScheduleRequest& request,
                        const std::function<void(const SummingRun&)>& visit);

}  // namespace braid::vgpu::nccl
