// NCCL_GRAPH_FILE: rings and chains given by a file instead of found by the search.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/stock_nccl.hpp"

namespace braid::model::stock {

/// Most channels that a graph may have: NCCL doubles them and has room for 64.
inline constexpr int kMaxGraphChannels = 32;

/// Graphs by id (0 ring, 1 tree; others are passed over). `devs` holds the NVML index of each rank;
/// channels come out as ranks. A graph with nchannels="0" is left out: NCCL then searches as usual.
/// What NCCL would read but fail on later, or hang on, is an error that says what NCCL does.
/// Source of the rules: NCCL 2.28.9, src/graph/search.cc and xml.cc (nccl_facts D.3).
Result<std::map<int, ChannelGraph>> read_graph_file(const std::string& path,
                                                    const std::vector<int>& devs);
/// The same from text; `name` stands for the file in messages.
Result<std::map<int, ChannelGraph>> read_graph_text(const std::string& text,
                                                    const std::string& name,
                                                    const std::vector<int>& devs);

}  // namespace braid::model::stock
