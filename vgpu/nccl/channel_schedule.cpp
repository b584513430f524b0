#include "vgpu/nccl/channel_schedule.hpp"

#include <algorithm>

namespace braid::vgpu::nccl {
namespace {

using config::Collective;

constexpr uint64_t kMinimumTraffic = 16 << 10;  // bytes a channel carries at least
constexpr uint64_t kAlignment = 16;             // bytes

constexpr uint64_t kSimpleChunkBytes = (4ull << 20) / 8 * 4;  // 4 of 8 steps of a 4 MiB buffer
constexpr uint64_t kLlChunkBytes = 32 << 10;                  // half of a 64 KiB step is data
constexpr uint64_t kLl128ChunkBytes = 614400 / 16 * 15;       // 15 of 16 words are data
constexpr uint64_t kGrainBytes[model::kProtocols] = {16, 1920, 512};

uint64_t divide_up(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

uint64_t traffic_per_byte(const ScheduleRequest& request, int ranks) {
  uint64_t traffic = 1;
  if (request.collective == Collective::kAllReduce) {
    traffic = 2;
  } else if (request.collective == Collective::kAllGather ||
             request.collective == Collective::kReduceScatter) {
    traffic = static_cast<uint64_t>(ranks);
  }
  return request.protocol == model::kLl ? 4 * traffic : traffic;
}

/// The ring as positions from rank 0 on.
std::vector<int> from_rank_zero(const std::vector<int>& ring) {
  std::vector<int> turned = ring;
  std::rotate(turned.begin(), std::find(turned.begin(), turned.end(), 0), turned.end());
  return turned;
}

/// The ring's ranks in travelling order, beginning at `position`.
std::vector<int> order_from(const std::vector<int>& ring, size_t position) {
  std::vector<int> order = ring;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(position % ring.size()),
              order.end());
  return order;
}

/// The order that ends at `rank`.
std::vector<int> order_ending_at(const std::vector<int>& ring, int rank) {
  const auto at = std::find(ring.begin(), ring.end(), rank);
  return order_from(ring, static_cast<size_t>(at - ring.begin()) + 1);
}

void visit_ring_chunks(const std::vector<int>& ring, const ScheduleRequest& request,
                       uint64_t channel_begin, uint64_t channel_count,
                       const std::function<void(const SummingRun&)>& visit) {
  const size_t ranks = ring.size();
  std::vector<std::vector<int>> orders;
  for (size_t chunk = 0; chunk < ranks; ++chunk) {
    orders.push_back(order_from(ring, chunk + 1));
  }
  uint64_t chunk_count = chunk_elements(request.protocol, request.element_bytes);
  const uint64_t loop_count = chunk_count * ranks;
  for (uint64_t done = 0; done < channel_count; done += loop_count) {
    const uint64_t left = channel_count - done;
    if (left < loop_count) {
      const uint64_t align = kAlignment / request.element_bytes;
      chunk_count = divide_up(divide_up(left, ranks), align) * align;
    }
    for (size_t chunk = 0; chunk < ranks && chunk * chunk_count < left; ++chunk) {
      const uint64_t offset = chunk * chunk_count;
      visit({channel_begin + done + offset, std::min(chunk_count, left - offset), -1,
             &orders[chunk]});
    }
  }
}

}  // namespace

uint64_t chunk_elements(int protocol, size_t element_bytes) {
  constexpr uint64_t kChunkBytes[model::kProtocols] = {kLlChunkBytes, kLl128ChunkBytes,
                                                       kSimpleChunkBytes};
  const uint64_t grain = kGrainBytes[protocol];
  return kChunkBytes[protocol] / grain * grain / element_bytes;
}

std::vector<uint64_t> deal_to_channels(const ScheduleRequest& request, int ranks) {
  const uint64_t cell_bytes =
      divide_up(divide_up(kMinimumTraffic, traffic_per_byte(request, ranks)), kAlignment) *
      kAlignment;
  const uint64_t cell = cell_bytes / request.element_bytes;
  const uint64_t cells = divide_up(request.count, cell);
  const uint64_t per_channel =
      divide_up(cells, static_cast<uint64_t>(std::max(1, request.channels))) * cell;
  std::vector<uint64_t> counts;
  for (uint64_t left = request.count; left > 0; left -= counts.back()) {
    counts.push_back(std::min(left, per_channel));
  }
  return counts;
}

void visit_summing_runs(const model::StockPlan& plan, const ScheduleRequest& request,
                        const std::function<void(const SummingRun&)>& visit) {
  const std::vector<uint64_t> counts = deal_to_channels(request, plan.n_ranks);
  uint64_t begin = 0;
  for (size_t channel = 0; channel < counts.size(); begin += counts[channel], ++channel) {
    if (request.algorithm == model::kTree) {
      const std::vector<int>& chain = plan.tree_channels[channel % plan.tree_channels.size()];
      const std::vector<int> order(chain.rbegin(), chain.rend());
      visit({begin, counts[channel], -1, &order});
      continue;
    }
    const std::vector<int> ring =
        from_rank_zero(plan.ring_channels[channel % plan.ring_channels.size()]);
    if (request.collective == Collective::kAllReduce) {
      visit_ring_chunks(ring, request, begin, counts[channel], visit);
    } else if (request.collective == Collective::kReduceScatter) {
      for (int block = 0; block < plan.n_ranks; ++block) {
        const std::vector<int> order = order_ending_at(ring, block);
        visit({begin, counts[channel], block, &order});
      }
    } else {
      const std::vector<int> order = order_ending_at(ring, request.root);
      visit({begin, counts[channel], -1, &order});
    }
  }
}

}  // namespace braid::vgpu::nccl
