#include "vgpu/nccl/data_movement.hpp"

#include <algorithm>
#include <cstring>

#include "vgpu/nccl/channel_schedule.hpp"
#include "vgpu/nccl/operation.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr size_t kBlockBytes = 16 << 10;  // stays in the first-level cache

std::byte* at(uint64_t address) { return reinterpret_cast<std::byte*>(address); }

void copy(uint64_t from, uint64_t to, size_t bytes) {
  if (from != to && bytes > 0) {
    std::memmove(at(to), at(from), bytes);
  }
}

/// Sums one run and writes the result to everyone who is to have it, block by block so that the
/// sums stay in the cache. Inputs of a block are read before any result of the block is written, so
/// a receive buffer may be a send buffer.
class RunSummer {
 public:
  explicit RunSummer(const std::vector<PostedCollective>& posted)
      : posted_(posted),
        reduction_{static_cast<ncclDataType_t>(posted[0].datatype),
                   static_cast<ReductionKind>(posted[0].operation),
                   static_cast<int>(posted.size())},
        element_(bytes_of(reduction_.datatype)) {}

  void sum(const SummingRun& run) {
    const uint64_t block_begin =
        run.block < 0 ? 0 : static_cast<uint64_t>(run.block) * posted_[0].count;
    const size_t step = kBlockBytes / element_;
    for (uint64_t done = 0; done < run.count; done += step) {
      const size_t count = std::min<uint64_t>(step, run.count - done);
      const uint64_t in_block = run.begin + done;
      const size_t source = (block_begin + in_block) * element_;
      const std::vector<int>& order = *run.order;
      const PostedCollective& first = posted_[static_cast<size_t>(order[0])];
      begin_reduction(reduction_, first.scalar, at(first.send) + source, sums_, count);
      for (size_t hop = 1; hop < order.size(); ++hop) {
        const PostedCollective& next = posted_[static_cast<size_t>(order[hop])];
        add_to_reduction(reduction_, next.scalar, at(next.send) + source, sums_, count);
      }
      finish_reduction(reduction_, sums_, count);
      write(run.block, in_block * element_, count * element_);
    }
  }

 private:
  void write(int block, size_t offset, size_t bytes) {
    switch (posted_[0].function) {
      case abi::kReduceScatter:
        std::memcpy(at(posted_[static_cast<size_t>(block)].receive) + offset, sums_, bytes);
        break;
      case abi::kReduce:
        std::memcpy(at(posted_[static_cast<size_t>(posted_[0].root)].receive) + offset, sums_,
                    bytes);
        break;
      default:
        for (const PostedCollective& rank : posted_) {
          std::memcpy(at(rank.receive) + offset, sums_, bytes);
        }
    }
  }

  const std::vector<PostedCollective>& posted_;
  Reduction reduction_;
  size_t element_;
  alignas(16) std::byte sums_[kBlockBytes];
};

}  // namespace

void move_data(const model::StockPlan& plan, const std::vector<PostedCollective>& posted) {
  const PostedCollective& call = posted[0];
  const size_t element = bytes_of(static_cast<ncclDataType_t>(call.datatype));
  const size_t block = call.count * element;
  switch (call.function) {
    case abi::kBroadcast:
      for (const PostedCollective& rank : posted) {
        copy(posted[static_cast<size_t>(call.root)].send, rank.receive, block);
      }
      return;
    case abi::kAllGather:
      for (size_t from = 0; from < posted.size(); ++from) {
        for (const PostedCollective& to : posted) {
          copy(posted[from].send, to.receive + from * block, block);
        }
      }
      return;
    default:
      break;
  }
  ScheduleRequest request;
  request.collective = model_collective(static_cast<abi::Function>(call.function));
  request.algorithm = call.algorithm;
  request.protocol = call.protocol;
  request.channels = call.channels;
  request.count = call.count;
  request.element_bytes = element;
  request.root = call.root;
  RunSummer summer(posted);
  visit_summing_runs(plan, request, [&](const SummingRun& run) { summer.sum(run); });
}

}  // namespace braid::vgpu::nccl
