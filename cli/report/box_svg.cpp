// The picture of a box: a column a socket, PCIe above the GPUs, NVLink below them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/format.hpp"
#include "cli/report/box.hpp"
#include "cli/report/escape.hpp"

namespace braid::cli {
namespace {

using model::LinkKind;
using model::LinkNode;

constexpr double kGpuWidth = 104, kGpuHeight = 52, kGap = 22, kSocketGap = 64, kMargin = 28;
constexpr double kTitle = 64, kCpuHeight = 42, kLevel = 66, kArcDepth = 30;

constexpr const char* kStyle = R"(
text{font:13px system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;fill:#1b2330}
.title{font-size:18px;font-weight:700}.sub{fill:#5a6677}.small{font-size:11px;fill:#5a6677}
.socket{fill:#f5f7f9;stroke:#dfe4ea}.cpu{fill:#fff;stroke:#5a6677}.switch{fill:#fff;stroke:#a9b4c0}
.gpu{fill:#e3f0f8;stroke:#0072b2}.plane{fill:#e2f4ee;stroke:#009e73}
.pcie{stroke:#5a6677;stroke-width:1.5;fill:none}.nvlink{stroke:#009e73;stroke-width:4;fill:none}
.link{stroke:#d55e00;stroke-width:3;fill:none}.on-link{font-size:11px}
)";

struct Place {
  double x = 0, y = 0, width = 0, height = 0;
  double center() const { return x + width / 2; }
};

class BoxDrawer {
 public:
  explicit BoxDrawer(const Box& box) : box_(box) {
    for (const model::Link& link : box.graph.links) {
      const bool tree = link.kind == LinkKind::kPcie || link.kind == LinkKind::kSwitchUplink ||
                        link.kind == LinkKind::kNic;
      // Of the two directions, the one from below is the one towards the CPU.
      if (tree && rank_of(link.from) < rank_of(link.to)) {
        parent_[link.from] = {link.to, link.capacity_gbps};
      } else if (tree && link.kind == LinkKind::kSwitchUplink && is_switch(link.from) &&
                 is_switch(link.to) && depth_of(link.from) > depth_of(link.to)) {
        parent_[link.from] = {link.to, link.capacity_gbps};
      }
    }
  }

  std::string draw() {
    double x = kMargin;
    for (size_t i = 0; i < box_.graph.nodes.size(); ++i) {
      if (at(static_cast<int>(i)).kind == LinkNode::Kind::kCpu) {
        max_depth_ = std::max(max_depth_, depth_below(static_cast<int>(i)));
      }
    }
    for (size_t i = 0; i < box_.graph.nodes.size(); ++i) {
      if (at(static_cast<int>(i)).kind == LinkNode::Kind::kCpu) {
        x = place_socket(static_cast<int>(i), x) + kSocketGap;
      }
    }
    const double width = std::max(x - kSocketGap + kMargin, 520.0);
    draw_nodes();
    draw_sockets();
    draw_nvlinks();
    const double height = bottom_ + kArcDepth + kMargin + (plane_ ? 70 : 0);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\"><style>{2}</style>"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{3}{4}{5}</svg>\n",
        width, height, kStyle, title(), behind_, front_);
  }

 private:
  const LinkNode& at(int node) const { return box_.graph.nodes[static_cast<size_t>(node)]; }
  bool is_switch(int node) const { return at(node).kind == LinkNode::Kind::kSwitch; }
  /// GPUs and NICs hang below switches, switches below CPUs.
  int rank_of(int node) const {
    switch (at(node).kind) {
      case LinkNode::Kind::kCpu:
        return 2;
      case LinkNode::Kind::kSwitch:
        return 1;
      default:
        return 0;
    }
  }
  /// Number of PCI nodes above a switch.
  int depth_of(int node) const {
    int depth = 0;
    for (int pci = at(node).index; pci >= 0;
         pci = box_.topology.pci_nodes[static_cast<size_t>(pci)].parent) {
      ++depth;
    }
    return depth;
  }

  std::vector<int> children_of(int node) const {
    std::vector<int> children;
    for (const auto& [child, link] : parent_) {
      if (link.first == node) {
        children.push_back(child);
      }
    }
    return children;
  }

  int depth_below(int node) const {
    int depth = 0;
    for (const int child : children_of(node)) {
      depth = std::max(depth, 1 + depth_below(child));
    }
    return depth;
  }

  std::string title() const {
    return fmt::format(
        "<text class=\"title\" x=\"{0}\" y=\"34\">{1}</text><text class=\"sub\" x=\"{0}\" y=\"54\">"
        "{2} GPUs, class {3}; link figures are NCCL's, each way</text>",
        kMargin, escape_html(std::filesystem::path(box_.topology.path).filename().string()),
        box_.topology.gpus.size(), model::class_of(box_.topology));
  }

  double level_y(int level) const { return kTitle + 30 + kCpuHeight + kLevel * level; }

  /// Places everything below a CPU; returns the right edge.
  double place_socket(int cpu, double x) {
    double cursor = x + kGap;
    place_below(cpu, 1, &cursor);
    const double right = std::max(cursor, x + 2 * kGpuWidth);
    places_[cpu] = {x + kGap, kTitle + 16, right - x - 2 * kGap, kCpuHeight};
    const double bottom = level_y(std::max(max_depth_, 1)) + kGpuHeight - 8;
    bottom_ = std::max(bottom_, bottom);
    behind_ += fmt::format(
        "<rect class=\"socket\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\" rx=\"8\"/>",
        x, kTitle, right - x, bottom - kTitle + 44);
    return right;
  }

  void place_below(int node, int level, double* cursor) {
    for (const int child : children_of(node)) {
      if (is_switch(child)) {
        const double left = *cursor;
        place_below(child, level + 1, cursor);
        const double right = std::max(*cursor - kGap, left + kGpuWidth);
        places_[child] = {left, level_y(level) - 20, right - left, 30};
        *cursor = right + kGap;
      } else {
        places_[child] = {*cursor, level_y(std::max(max_depth_, 1)) - 20, kGpuWidth, kGpuHeight};
        *cursor += kGpuWidth + kGap;
      }
    }
  }

  void draw_nodes() {
    for (const auto& [node, place] : places_) {
      const auto index = static_cast<size_t>(at(node).index);
      switch (at(node).kind) {
        case LinkNode::Kind::kCpu: {
          const model::Cpu& cpu = box_.topology.cpus[index];
          draw_rect("cpu", place, fmt::format("CPU {}", cpu.numa_id), cpu.vendor);
          break;
        }
        case LinkNode::Kind::kSwitch:
          draw_rect("switch", place, "PCIe switch", "");
          break;
        case LinkNode::Kind::kGpu: {
          const model::Gpu& gpu = box_.topology.gpus[index];
          draw_rect("gpu", place, fmt::format("GPU {}", gpu.dev), gpu.bus_id);
          break;
        }
        default:
          draw_rect("switch", place, "NIC", box_.topology.nics[index].name);
      }
      draw_uplink(node, place);
    }
  }

  void draw_rect(const char* kind, const Place& place, const std::string& name,
                 const std::string& detail) {
    const double middle = place.y + place.height / 2;
    front_ += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\" rx=\"5\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"middle\">{}</text>",
        kind, place.x, place.y, place.width, place.height, place.center(),
        detail.empty() ? middle + 4.5 : middle - 2, escape_html(name));
    if (!detail.empty()) {
      front_ += fmt::format(
          "<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">"
          "{}</text>",
          place.center(), middle + 14, escape_html(detail));
    }
  }

  void draw_uplink(int node, const Place& place) {
    const auto link = parent_.find(node);
    if (link == parent_.end() || places_.count(link->second.first) == 0) {
      return;
    }
    const Place& above = places_.at(link->second.first);
    behind_ += fmt::format(
        "<path class=\"pcie\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>"
        "<text class=\"small\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5:.4g} GB/s</text>",
        place.center(), place.y, above.y + above.height, place.center() + 5, place.y - 7,
        link->second.second);
  }

  void draw_sockets() {
    for (const model::Link& link : box_.graph.links) {
      if (link.kind != LinkKind::kSocket || link.from >= link.to || places_.count(link.from) == 0 ||
          places_.count(link.to) == 0) {
        continue;
      }
      const Place& a = places_.at(link.from);
      const Place& b = places_.at(link.to);
      const double y = a.y + a.height / 2;
      behind_ += fmt::format(
          "<path class=\"link\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>"
          "<text class=\"on-link\" x=\"{:.1f}\" y=\"{:.1f}\" "
          "text-anchor=\"middle\">{:.4g} GB/s</text>",
          a.x + a.width, y, b.x, (a.x + a.width + b.x) / 2, y - 7, link.capacity_gbps);
    }
  }

  void draw_nvlinks() {
    for (const model::Link& link : box_.graph.links) {
      if (places_.count(link.from) == 0) {
        continue;
      }
      const Place& a = places_.at(link.from);
      if (link.kind == LinkKind::kNvswitch && at(link.from).kind == LinkNode::Kind::kGpu) {
        plane_ = true;
        front_ += fmt::format("<path class=\"nvlink\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", a.center(),
                              a.y + a.height, bottom_ + kArcDepth + 28);
        plane_left_ = std::min(plane_left_, a.x);
        plane_right_ = std::max(plane_right_, a.x + a.width);
        plane_gbps_ = link.capacity_gbps;
      } else if (link.kind == LinkKind::kNvlink && link.from < link.to &&
                 places_.count(link.to) != 0) {
        draw_bridge(a, places_.at(link.to), link.capacity_gbps);
      }
    }
    if (plane_) {
      draw_rect("plane", {plane_left_, bottom_ + kArcDepth + 28, plane_right_ - plane_left_, 38},
                "NVSwitch", fmt::format("{:.4g} GB/s a GPU", plane_gbps_));
    }
  }

  /// A curve below the two GPUs, deeper the further they are apart.
  void draw_bridge(const Place& a, const Place& b, double gbps) {
    const double y = a.y + a.height;
    const double distance = std::abs(b.center() - a.center());
    const double depth = std::min(14 + distance * 0.09, kArcDepth + 24.0);
    front_ += fmt::format(
        "<path class=\"nvlink\" d=\"M{0:.1f} {1:.1f}C{0:.1f} {2:.1f} {3:.1f} {2:.1f} "
        "{3:.1f} {1:.1f}\"/>",
        a.center(), y, y + depth, b.center());
    if (distance < kGpuWidth + kGap + 1) {
      front_ += fmt::format(
          "<text class=\"on-link\" x=\"{:.1f}\" y=\"{:.1f}\" "
          "text-anchor=\"middle\">NVLink {:.4g} GB/s</text>",
          (a.center() + b.center()) / 2, y + depth + 8, gbps);
    }
  }

  const Box& box_;
  std::map<int, std::pair<int, double>> parent_;  // node → the node above it, GB/s upwards
  std::map<int, Place> places_;
  int max_depth_ = 0;
  double bottom_ = 0;
  bool plane_ = false;
  double plane_left_ = 1e9, plane_right_ = 0, plane_gbps_ = 0;
  std::string behind_, front_;
};

}  // namespace

std::string box_svg(const Box& box) { return BoxDrawer(box).draw(); }

}  // namespace braid::cli
