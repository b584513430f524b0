#include "cli/doctor/live_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/report/escape.hpp"

namespace braid::cli {
namespace fs = std::filesystem;
namespace {

/// First line of a small file, "" when it cannot be read.
std::string line_of(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// NVML writes "00000000:17:00.0", the kernel "0000:17:00.0".
std::string kernel_bus_id(const std::string& nvml) {
  std::string id = nvml;
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  return id.size() == 16 ? id.substr(4) : id;
}

bool is_bus_id(const std::string& name) {
  return name.size() == 12 && name[4] == ':' && name[7] == ':' && name[10] == '.';
}

double speed_of(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int number_of(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// An element of the file under construction.
struct PciElement {
  std::string bus_id, device_class, speed;
  int width = 0;
  std::vector<std::string> children;  // bus ids
  int gpu = -1;                       // index into the GPUs
};

class Builder {
 public:
  Builder(const std::vector<LiveGpu>& gpus, std::string root)
      : gpus_(gpus), root_(std::move(root)) {}

  Result<std::string> build() {
    for (size_t i = 0; i < gpus_.size(); ++i) {
      if (Status status = add_gpu(static_cast<int>(i)); !status) {
        return tl::unexpected(status.error());
      }
    }
    std::string out = "<system version=\"1\">\n";
    for (const auto& [numa, children] : by_numa_) {
      out +=
          fmt::format("  <cpu numaid=\"{}\" affinity=\"{}\" {}>\n", numa,
                      line_of(root_ + fmt::format("/sys/devices/system/node/node{}/cpumap", numa)),
                      cpu_attributes());
      for (const std::string& child : children) {
        out += element(child, 4);
      }
      out += "  </cpu>\n";
    }
    return out + "</system>\n";
  }

 private:
  Status add_gpu(int index) {
    const std::string bus_id = kernel_bus_id(gpus_[static_cast<size_t>(index)].bus_id);
    const fs::path device = root_ + "/sys/bus/pci/devices/" + bus_id;
    std::error_code error;
    const fs::path real = fs::canonical(device, error);
    if (error) {
      return fail(
          device.string(),
          fmt::format("cannot be read ({}); the kernel's PCI tree is needed", error.message()));
    }
    std::vector<fs::path> levels;  // the GPU first, then upwards
    for (fs::path at = real; is_bus_id(at.filename().string()); at = at.parent_path()) {
      levels.push_back(at);
    }
    std::string below;
    for (size_t i = 0; i < levels.size(); i += 2) {
      const std::string name = levels[i].filename().string();
      const bool known = elements_.count(name) != 0;
      PciElement& node = elements_[name];
      if (!known) {
        node.bus_id = name;
        node.device_class = line_of(levels[i] / "class");
        set_link(levels, i, &node);
      }
      if (i == 0) {
        node.gpu = index;
      } else if (std::find(node.children.begin(), node.children.end(), below) ==
                 node.children.end()) {
        node.children.push_back(below);
      }
      below = name;
      if (known) {
        return {};
      }
    }
    by_numa_[std::max(number_of(line_of(real / "numa_node")), 0)].push_back(below);
    return {};
  }

  /// The slower of a device and the port it is plugged into.
  void set_link(const std::vector<fs::path>& levels, size_t level, PciElement* node) const {
    node->speed = line_of(levels[level] / "max_link_speed");
    node->width = number_of(line_of(levels[level] / "max_link_width"));
    if (level + 1 < levels.size()) {
      const std::string port = line_of(levels[level + 1] / "max_link_speed");
      const int width = number_of(line_of(levels[level + 1] / "max_link_width"));
      if (speed_of(port) > 0 && speed_of(port) < speed_of(node->speed)) {
        node->speed = port;
      }
      node->width = width > 0 ? std::min(node->width, width) : node->width;
    }
  }

  std::string cpu_attributes() const {
    std::ifstream in(root_ + "/proc/cpuinfo");
    std::map<std::string, std::string> first;
    for (std::string line; std::getline(in, line) && !line.empty();) {
      const size_t colon = line.find(':');
      if (colon != std::string::npos) {
        std::string key = line.substr(0, colon);
        key.erase(key.find_last_not_of(" \t") + 1);
        first[key] = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
      }
    }
    const std::string vendor = first["vendor_id"];
    if (vendor.empty()) {
      return "arch=\"arm64\"";
    }
    return fmt::format("arch=\"x86_64\" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\"",
                       escape_html(vendor), number_of(first["cpu family"]),
                       number_of(first["model"]));
  }

  std::string element(const std::string& bus_id, int indent) const {
    const PciElement& node = elements_.at(bus_id);
    const std::string blanks(static_cast<size_t>(indent), ' ');
    std::string out = fmt::format(
        "{}<pci busid=\"{}\" class=\"{}\" link_speed=\"{}\" link_width=\"{}\">\n", blanks, bus_id,
        escape_html(node.device_class), escape_html(node.speed), node.width);
    for (const std::string& child : node.children) {
      out += element(child, indent + 2);
    }
    if (node.gpu >= 0) {
      out += gpu_element(node.gpu, indent + 2);
    }
    return out + blanks + "</pci>\n";
  }

  std::string gpu_element(int index, int indent) const {
    const LiveGpu& gpu = gpus_[static_cast<size_t>(index)];
    const std::string blanks(static_cast<size_t>(indent), ' ');
    std::string out = fmt::format("{0}<gpu dev=\"{1}\" sm=\"{2}\" rank=\"{1}\" gdr=\"0\">\n",
                                  blanks, index, gpu.compute_capability);
    std::map<std::string, int> links;
    for (const std::string& remote : gpu.nvlink_targets) {
      ++links[kernel_bus_id(remote)];
    }
    for (const auto& [target, count] : links) {
      std::string device_class = line_of(root_ + "/sys/bus/pci/devices/" + target + "/class");
      if (device_class.empty()) {
        device_class = "0x068000";  // switches are often hidden from guests
      }
      out += fmt::format("{}  <nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>\n", blanks, target,
                         count, device_class.starts_with("0x03") ? "0x030200" : device_class);
    }
    return out + blanks + "</gpu>\n";
  }

  const std::vector<LiveGpu>& gpus_;
  const std::string root_;
  std::map<std::string, PciElement> elements_;
  std::map<int, std::vector<std::string>> by_numa_;  // topmost elements
};

}  // namespace

Result<std::string> live_topology_xml(const std::vector<LiveGpu>& gpus, const std::string& root) {
  return Builder(gpus, root).build();
}

}  // namespace braid::cli
