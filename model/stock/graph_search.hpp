// The sequence of searches by which NCCL arrives at its rings and trees.
#pragma once

#include "model/stock/channel_search.hpp"
#include "model/stock_nccl.hpp"

namespace braid::model::stock {

/// Finds the channels NCCL would use for a pattern: lowers the bandwidth and widens the class of
/// path until something is found, then tries to raise it. Channels list GPU indices; the caller
/// turns them into ranks. Without any solution: file order at 0.1 GB/s, as NCCL does.
ChannelGraph find_graph(const SearchBox& box, Pattern pattern, int min_channels, int max_channels);

}  // namespace braid::model::stock
