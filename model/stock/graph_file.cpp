#include "model/stock/graph_file.hpp"

#include <algorithm>
#include <charconv>

#include "model/xml_text.hpp"

namespace braid::model::stock {
namespace {

constexpr double kMaxSpeed = 10000;  // GB/s

class Reader {
 public:
  Reader(const XmlText& xml, const std::vector<int>& devs) : xml_(xml), devs_(devs) {}

  Result<std::map<int, ChannelGraph>> read() {
    std::map<int, ChannelGraph> graphs;
    for (const auto node : xml_.root().children("graph")) {
      const auto id = xml_.read_integer(node, "id", 0, 1 << 20);
      if (!id) {
        return tl::unexpected(id.error());
      }
      if (*id > 1) {
        continue;  // CollNet and NVLS
      }
      auto graph = read_graph(node);
      if (!graph) {
        return tl::unexpected(graph.error());
      }
      if (graph->channels.empty()) {
        graphs.erase(static_cast<int>(*id));
      } else {
        graphs[static_cast<int>(*id)] = std::move(*graph);  // of two with one id, the later wins
      }
    }
    return graphs;
  }

 private:
  Result<ChannelGraph> read_graph(pugi::xml_node node) const {
    ChannelGraph graph;
    const auto pattern = xml_.read_integer(node, "pattern", 1, 6);
    const auto cross_nic = xml_.read_integer(node, "crossnic", 0, 2);
    const auto n_channels = xml_.read_integer(node, "nchannels", 0, kMaxGraphChannels);
    const auto same = xml_.read_integer(node, "samechannels", 0, 1);
    for (const auto* value : {&pattern, &cross_nic, &n_channels, &same}) {
      if (!*value) {
        return tl::unexpected(value->error());
      }
    }
    const auto intra = xml_.read_number(node, "speedintra", 0, kMaxSpeed);
    const auto inter = xml_.read_number(node, "speedinter", 0, kMaxSpeed);
    const auto latency = xml_.read_number(node, "latencyinter", 0, 1e9, 0.0);
    for (const auto* value : {&intra, &inter, &latency}) {
      if (!*value) {
        return tl::unexpected(value->error());
      }
    }
    const auto type_intra = read_type(node, "typeintra");
    const auto type_inter = read_type(node, "typeinter");
    for (const auto* value : {&type_intra, &type_inter}) {
      if (!*value) {
        return tl::unexpected(value->error());
      }
    }
    graph.pattern = static_cast<int>(*pattern);
    graph.same_channels = *same != 0;
    graph.speed_intra_gbps = *intra;
    graph.speed_inter_gbps = *inter;
    graph.type_intra = *type_intra;
    graph.type_inter = *type_inter;

    for (const auto channel : node.children("channel")) {
      auto ranks = read_channel(channel);
      if (!ranks) {
        return tl::unexpected(ranks.error());
      }
      graph.channels.push_back(std::move(*ranks));
    }
    const auto wanted = static_cast<size_t>(*n_channels);
    if (graph.channels.size() < wanted) {
      return xml_.error_at(node,
                           "nchannels=\"" + std::to_string(wanted) + "\", but only " +
                               std::to_string(graph.channels.size()) +
                               " <channel> follow; NCCL would fill up with rings of rank 0 and "
                               "fail when it connects them");
    }
    graph.channels.resize(wanted);  // NCCL uses the first nchannels
    return graph;
  }

  Result<std::vector<int>> read_channel(pugi::xml_node node) const {
    std::vector<int> ranks;
    for (const auto gpu : node.children("gpu")) {
      const auto text = xml_.read_text(gpu, "dev");
      if (!text) {
        return tl::unexpected(text.error());
      }
      const auto dev = parse_dev(*text);
      if (!dev) {
        return xml_.error_at(gpu, "dev=\"" + text->substr(0, 40) +
                                      "\": expected a hexadecimal NVML index, such as 0x1");
      }
      const auto found = std::find(devs_.begin(), devs_.end(), *dev);
      if (found == devs_.end()) {
        return xml_.error_at(gpu, "dev " + std::to_string(*dev) +
                                      " is not in the communicator; NCCL fails with \"XML Import "
                                      "Channel : dev " +
                                      std::to_string(*dev) + " not found\"");
      }
      const int rank = static_cast<int>(found - devs_.begin());
      if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) {
        return xml_.error_at(gpu, "dev " + std::to_string(*dev) + " stands twice in one channel");
      }
      ranks.push_back(rank);
    }
    if (ranks.size() != devs_.size()) {
      return xml_.error_at(node, "the channel lists " + std::to_string(ranks.size()) + " of " +
                                     std::to_string(devs_.size()) +
                                     " GPUs; NCCL cannot close such a ring");
    }
    return ranks;
  }

  /// Hexadecimal with or without 0x: NCCL reads "10" as GPU 16.
  static std::optional<int> parse_dev(std::string_view digits) {
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      digits.remove_prefix(2);
    }
    int dev = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, dev, 16);
    const bool good = !digits.empty() && error == std::errc() && stop == end && dev >= 0;
    return good ? std::optional(dev) : std::nullopt;
  }

  Result<PathType> read_type(pugi::xml_node node, const char* attribute) const {
    const auto text = xml_.read_text(node, attribute);
    if (!text) {
      return tl::unexpected(text.error());
    }
    const auto type = path_type_from(*text);
    // NCCL takes an unknown word for LOC, and then sends LL128 over PCIe.
    if (!type || *type > PathType::kSys || *type == PathType::kC2c) {
      return xml_.error_at(node, std::string(attribute) + "=\"" + text->substr(0, 40) +
                                     "\": expected LOC, NVL, NVB, PIX, PXB, P2C, PXN, PHB or SYS");
    }
    return *type;
  }

  const XmlText& xml_;
  const std::vector<int>& devs_;
};

}  // namespace

Result<std::map<int, ChannelGraph>> read_graph_text(const std::string& text,
                                                    const std::string& name,
                                                    const std::vector<int>& devs) {
  const auto xml = XmlText::parse(text, name, "graphs");
  if (!xml) {
    return tl::unexpected(xml.error());
  }
  return Reader(*xml, devs).read();
}

Result<std::map<int, ChannelGraph>> read_graph_file(const std::string& path,
                                                    const std::vector<int>& devs) {
  const auto text = read_xml_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return read_graph_text(*text, path, devs);
}

}  // namespace braid::model::stock
