// The text view of a box: the PCIe tree with the GPUs in it, and stock NCCL's set-up.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <set>

#include "cli/format.hpp"
#include "cli/report/box.hpp"
#include "cli/text_table.hpp"

namespace braid::cli {
namespace {

using model::LinkNode;

/// Draws the tree below one node with box characters.
class TreeDrawer {
 public:
  TreeDrawer(const Box& box, std::string* out) : box_(box), out_(*out) {
    for (size_t i = 0; i < box.graph.links.size(); ++i) {
      const model::Link& link = box.graph.links[i];
      if (link.kind == model::LinkKind::kPcie || link.kind == model::LinkKind::kSwitchUplink ||
          link.kind == model::LinkKind::kNic) {
        up_[link.from].push_back(link.to);
        capacity_[{link.from, link.to}] = link.capacity_gbps;
      }
    }
  }

  void draw_cpu(int node) {
    const model::Cpu& cpu = box_.topology.cpus[static_cast<size_t>(at(node).index)];
    out_ += fmt::format("CPU {}  {}\n", cpu.numa_id,
                        fmt::join(std::vector<std::string>{cpu.arch, cpu.vendor}, " "));
    seen_.insert(node);
    draw_children(node, "");
    out_ += "\n";
  }

 private:
  const LinkNode& at(int node) const { return box_.graph.nodes[static_cast<size_t>(node)]; }

  void draw_children(int node, const std::string& indent) {
    std::vector<int> children;
    for (size_t i = 0; i < box_.graph.nodes.size(); ++i) {
      const int child = static_cast<int>(i);
      const auto kind = at(child).kind;
      const bool hangs = kind == LinkNode::Kind::kGpu || kind == LinkNode::Kind::kSwitch ||
                         kind == LinkNode::Kind::kNic;
      if (hangs && seen_.count(child) == 0 && capacity_.count({child, node}) != 0 &&
          capacity_.count({node, child}) != 0) {
        children.push_back(child);
      }
    }
    for (const int child : children) {
      seen_.insert(child);
    }
    for (size_t i = 0; i < children.size(); ++i) {
      const bool last = i + 1 == children.size();
      const int child = children[i];
      out_ += fmt::format("{}{}── {:.4g} GB/s ── {}\n", indent, last ? "└" : "├",
                          capacity_[{child, node}], describe(child));
      if (at(child).kind == LinkNode::Kind::kSwitch) {
        draw_children(child, indent + (last ? "    " : "│   "));
      }
    }
  }

  std::string describe(int node) const {
    const auto index = static_cast<size_t>(at(node).index);
    if (at(node).kind == LinkNode::Kind::kSwitch) {
      return "PCIe switch " + box_.topology.pci_nodes[index].bus_id;
    }
    if (at(node).kind == LinkNode::Kind::kNic) {
      return "NIC " + box_.topology.nics[index].name;
    }
    const model::Gpu& gpu = box_.topology.gpus[index];
    std::string text =
        fmt::format("GPU {}  {}  sm_{}", gpu.dev, gpu.bus_id, gpu.compute_capability);
    for (const model::Link& link : box_.graph.links) {
      if (link.from != node) {
        continue;
      }
      if (link.kind == model::LinkKind::kNvlink) {
        text += fmt::format(
            "  ═ NVLink {:.4g} GB/s ═ {}", link.capacity_gbps,
            at(link.to).kind == LinkNode::Kind::kGpu
                ? fmt::format("GPU {}",
                              box_.topology.gpus[static_cast<size_t>(at(link.to).index)].dev)
                : node_name(box_, link.to));
      } else if (link.kind == model::LinkKind::kNvswitch) {
        text += fmt::format("  ═ NVLink {:.4g} GB/s ═ NVSwitch", link.capacity_gbps);
      }
    }
    return text;
  }

  const Box& box_;
  std::string& out_;
  std::map<int, std::vector<int>> up_;
  std::map<std::pair<int, int>, double> capacity_;
  std::set<int> seen_;
};

/// Each ring or chain once, with how often it occurs.
std::string channel_lines(const std::vector<std::vector<int>>& channels, const char* arrow) {
  std::map<std::vector<int>, int> counts;
  std::vector<std::vector<int>> order;
  for (const auto& channel : channels) {
    if (++counts[channel] == 1) {
      order.push_back(channel);
    }
  }
  std::string out;
  for (const auto& channel : order) {
    out += fmt::format("    {}{}\n", fmt::join(channel, arrow),
                       counts[channel] > 1 ? fmt::format("   ×{}", counts[channel]) : "");
  }
  return out;
}

std::string stock_text(const Box& box) {
  if (!box.stock) {
    return fmt::format("Stock NCCL: no plan for this box: {}\n", box.stock_error);
  }
  const model::StockPlan& plan = *box.stock;
  std::string out = fmt::format(
      "Stock NCCL 2.28, {} ranks in order of dev (computed, not measured)\n", plan.n_ranks);
  out += fmt::format("  rings, {:.4g} GB/s a channel, before duplication\n",
                     plan.ring.speed_intra_gbps);
  out += channel_lines(plan.ring.channels, " → ");
  out += fmt::format("  trees, {:.4g} GB/s a channel\n", plan.tree.speed_intra_gbps);
  out += channel_lines(plan.tree.channels, " – ");
  if (!box.choices.empty()) {
    TextTable table(
        {{"collective"}, {"size", true}, {"choice"}, {"time", true}, {"busbw GB/s", true}});
    for (const StockChoice& row : box.choices) {
      table.add_row({config::name_of(row.collective), format_bytes(row.bytes),
                     fmt::format("{}/{}", model::algorithm_name(row.choice.algorithm),
                                 model::protocol_name(row.choice.protocol)),
                     format_time(row.choice.time_us), fmt::format("{:.2f}", row.busbw_gbps)});
    }
    out += "  what it chooses, by its own cost model\n" + table.text(4);
  }
  return out;
}

}  // namespace

std::string box_text(const Box& box) {
  std::string out = fmt::format("{}\n{} GPUs, class {}\n\n",
                                std::filesystem::path(box.topology.path).filename().string(),
                                box.topology.gpus.size(), model::class_of(box.topology));
  TreeDrawer drawer(box, &out);
  for (size_t i = 0; i < box.graph.nodes.size(); ++i) {
    if (box.graph.nodes[i].kind == LinkNode::Kind::kCpu) {
      drawer.draw_cpu(static_cast<int>(i));
    }
  }
  bool any_socket = false;
  for (const model::Link& link : box.graph.links) {
    if (link.kind == model::LinkKind::kSocket && link.from < link.to) {
      out += fmt::format(
          "CPU {} ── {:.4g} GB/s between sockets ── CPU {}\n",
          box.topology
              .cpus[static_cast<size_t>(box.graph.nodes[static_cast<size_t>(link.from)].index)]
              .numa_id,
          link.capacity_gbps,
          box.topology
              .cpus[static_cast<size_t>(box.graph.nodes[static_cast<size_t>(link.to)].index)]
              .numa_id);
      any_socket = true;
    }
  }
  return out + (any_socket ? "\n" : "") + stock_text(box);
}

}  // namespace braid::cli
