// Reads NCCL's topology XML (the format of NCCL_TOPO_FILE and NCCL_TOPO_DUMP_FILE).
#include <charconv>
#include <map>
#include <string_view>

#include "config/digest.hpp"
#include "model/bus_id.hpp"
#include "model/topology.hpp"
#include "model/xml_text.hpp"

namespace braid::model {
namespace {

constexpr size_t kMaxGpus = 1024;
constexpr size_t kMaxCpus = 1024;
constexpr size_t kMaxPciNodes = 16384;
constexpr size_t kMaxNics = 4096;
constexpr int kMaxDev = 4095;
constexpr int kMaxNvlinkCount = 64;  // the largest GPU has 18; some dumps add up links of a switch
constexpr int kMaxLinkWidth = 32;    // PCIe's widest slot
constexpr double kMaxLinkSpeed = 256;

/// Fills a Topology from a parsed document.
class Reader {
 public:
  Reader(const XmlText& xml, const ReadOptions& options) : xml_(xml), options_(options) {}

  Result<Topology> read(const std::string& name) {
    for (const auto node : xml_.root().children("cpu")) {
      if (const auto status = read_cpu(node); !status) {
        return tl::unexpected(status.error());
      }
    }
    if (topology_.gpus.empty()) {
      return fail(name,
                  "the file lists no GPUs: no <pci> holds a <gpu> (partial files leave them to "
                  "what NCCL finds on the machine)");
    }
    if (const auto status = resolve_nvlinks(); !status) {
      return tl::unexpected(status.error());
    }
    topology_.version = 1;
    return std::move(topology_);
  }

 private:
  Status read_cpu(pugi::xml_node node) {
    if (topology_.cpus.size() == kMaxCpus) {
      return too_many(node, "CPUs", kMaxCpus);
    }
    Cpu cpu;
    cpu.line = xml_.line_of(node);
    const auto numa = xml_.read_integer(node, "numaid", -1, 65535);
    const auto family = xml_.read_integer(node, "familyid", -1, 1 << 20, -1);
    const auto model = xml_.read_integer(node, "modelid", -1, 1 << 20, -1);
    const auto hash = read_hex(node, "host_hash");
    for (const auto* value : {&numa, &family, &model}) {
      if (!*value) {
        return tl::unexpected(value->error());
      }
    }
    if (!hash) {
      return tl::unexpected(hash.error());
    }
    cpu.numa_id = static_cast<int>(*numa);
    cpu.family_id = static_cast<int>(*family);
    cpu.model_id = static_cast<int>(*model);
    cpu.arch = node.attribute("arch").value();
    cpu.vendor = node.attribute("vendor").value();
    cpu.affinity = node.attribute("affinity").value();
    cpu.host_hash = *hash;
    cpu.host = hosts_.try_emplace(*hash, static_cast<int>(hosts_.size())).first->second;
    const auto [first, fresh] = numa_lines_.try_emplace({cpu.host, cpu.numa_id}, cpu.line);
    if (!fresh) {
      return xml_.error_at(node, "numaid " + std::to_string(cpu.numa_id) + " was given in line " +
                                     std::to_string(first->second) + " already");
    }
    const int index = static_cast<int>(topology_.cpus.size());
    topology_.cpus.push_back(cpu);
    return read_devices(node, index, -1);
  }

  /// The <pci> and <nic> elements under a CPU (parent -1) or a PCI node.
  Status read_devices(pugi::xml_node node, int cpu, int parent) {
    for (const auto child : node.children()) {
      const std::string_view name = child.name();
      Status status;
      if (name == "pci") {
        status = read_pci(child, cpu, parent);
      } else if (name == "nic") {
        status = read_nic(child, cpu, parent);
      } else if (name == "gpu") {
        status = parent < 0
                     ? xml_.error_at(child, "<gpu> directly under <cpu>; expected inside <pci>")
                     : read_gpu(child, cpu, parent);
      }
      if (!status) {
        return status;
      }
    }
    return {};
  }

  Status read_pci(pugi::xml_node node, int cpu, int parent) {
    if (topology_.pci_nodes.size() == kMaxPciNodes) {
      return too_many(node, "PCI devices", kMaxPciNodes);
    }
    PciNode pci;
    pci.line = xml_.line_of(node);
    pci.parent = parent;
    pci.cpu = cpu;
    const auto bus_id = read_bus_id(node, "busid");
    const auto device_class = xml_.read_integer(node, "class", 0, 0xffffff, 0);
    const auto width = xml_.read_integer(node, "link_width", 0, kMaxLinkWidth, 0);
    const auto speed = read_link_speed(node);
    if (!bus_id) {
      return tl::unexpected(bus_id.error());
    }
    for (const auto* value : {&device_class, &width}) {
      if (!*value) {
        return tl::unexpected(value->error());
      }
    }
    if (!speed) {
      return tl::unexpected(speed.error());
    }
    pci.bus_id = node.attribute("busid").value();
    pci.device_class = static_cast<uint32_t>(*device_class);
    pci.link_width = static_cast<int>(*width);
    pci.link_speed_gts = *speed;
    for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
      const auto id = xml_.read_integer(node, part, 0, 0xffff, 0);
      if (!id) {
        return tl::unexpected(id.error());
      }
      pci.device_id = pci.device_id << 16 | static_cast<uint64_t>(*id);
    }

    for (int up = parent; up >= 0; up = topology_.pci_nodes[up].parent) {
      if (*bus_id == *parse_bus_id(topology_.pci_nodes[up].bus_id)) {
        return xml_.error_at(node, "loop: PCI device " + pci.bus_id +
                                       " stands below itself (line " +
                                       std::to_string(topology_.pci_nodes[up].line) + ")");
      }
    }
    const int host = topology_.cpus[cpu].host;
    const auto [first, fresh] = bus_lines_.try_emplace({host, *bus_id}, pci.line);
    if (!fresh) {
      return xml_.error_at(node, "bus id " + pci.bus_id + " was given in line " +
                                     std::to_string(first->second) + " already");
    }
    if (node.child("gpu") && node.child("pci")) {
      return xml_.error_at(node, "PCI device " + pci.bus_id +
                                     " holds a <gpu> and other devices; expected one or the other");
    }
    const int index = static_cast<int>(topology_.pci_nodes.size());
    topology_.pci_nodes.push_back(pci);
    return read_devices(node, cpu, index);
  }

  Status read_gpu(pugi::xml_node node, int cpu, int pci_node) {
    if (topology_.gpus.size() == kMaxGpus) {
      return too_many(node, "GPUs", kMaxGpus);
    }
    Gpu gpu;
    gpu.line = xml_.line_of(node);
    gpu.cpu = cpu;
    gpu.pci_node = pci_node;
    gpu.bus_id = topology_.pci_nodes[pci_node].bus_id;
    const auto dev = xml_.read_integer(node, "dev", 0, kMaxDev);
    const auto sm = xml_.read_integer(node, "sm", 30, 999);
    const auto rank = xml_.read_integer(node, "rank", -1, 1 << 20, -1);
    const auto gdr = xml_.read_integer(node, "gdr", 0, 1, 0);
    for (const auto* value : {&dev, &sm, &rank, &gdr}) {
      if (!*value) {
        return tl::unexpected(value->error());
      }
    }
    gpu.dev = static_cast<int>(*dev);
    gpu.compute_capability = static_cast<int>(*sm);
    gpu.rank = static_cast<int>(*rank);
    gpu.gdr = *gdr != 0;
    const int host = topology_.cpus[cpu].host;
    const int index = static_cast<int>(topology_.gpus.size());
    if (!gpu_of_bus_.try_emplace({host, *parse_bus_id(gpu.bus_id)}, index).second) {
      return xml_.error_at(node, "a second <gpu> in PCI device " + gpu.bus_id);
    }
    const auto [dev_line, new_dev] = dev_lines_.try_emplace({host, gpu.dev}, gpu.line);
    if (!new_dev) {
      return xml_.error_at(node, "dev " + std::to_string(gpu.dev) + " was given in line " +
                                     std::to_string(dev_line->second) + " already");
    }
    if (gpu.rank >= 0) {
      const auto [rank_line, new_rank] = rank_lines_.try_emplace(gpu.rank, gpu.line);
      if (!new_rank) {
        return xml_.error_at(node, "rank " + std::to_string(gpu.rank) + " was given in line " +
                                       std::to_string(rank_line->second) + " already");
      }
    }
    for (const auto child : node.children("nvlink")) {
      NvLink link;
      link.line = xml_.line_of(child);
      const auto target_class = xml_.read_integer(child, "tclass", 0, 0xffffff);
      const auto count = xml_.read_integer(child, "count", 1, kMaxNvlinkCount);
      const auto target = xml_.read_text(child, "target");
      for (const auto* value : {&target_class, &count}) {
        if (!*value) {
          return tl::unexpected(value->error());
        }
      }
      if (!target) {
        return tl::unexpected(target.error());
      }
      link.target_bus_id = *target;
      link.target_class = static_cast<uint32_t>(*target_class);
      link.count = static_cast<int>(*count);
      gpu.nvlinks.push_back(std::move(link));
    }
    topology_.gpus.push_back(std::move(gpu));
    return {};
  }

  Status read_nic(pugi::xml_node node, int cpu, int pci_node) {
    for (const auto child : node.children("net")) {
      if (!child.attribute("dev")) {
        continue;  // NCCL leaves such ports out as well: no plugin drives them
      }
      if (topology_.nics.size() == kMaxNics) {
        return too_many(child, "network ports", kMaxNics);
      }
      Nic nic;
      nic.line = xml_.line_of(child);
      nic.cpu = cpu;
      nic.pci_node = pci_node;
      nic.name = child.attribute("name").value();
      const auto dev = xml_.read_integer(child, "dev", 0, kMaxDev);
      const auto port = xml_.read_integer(child, "port", 0, 1 << 20, 0);
      const auto speed = xml_.read_number(child, "speed", -1, 1e8, 0.0);
      const auto guid = read_hex(child, "guid");
      for (const auto* value : {&dev, &port}) {
        if (!*value) {
          return tl::unexpected(value->error());
        }
      }
      if (!speed) {
        return tl::unexpected(speed.error());
      }
      if (!guid) {
        return tl::unexpected(guid.error());
      }
      nic.dev = static_cast<int>(*dev);
      nic.port = static_cast<int>(*port);
      nic.speed_mbps = *speed;
      nic.guid = *guid;
      topology_.nics.push_back(std::move(nic));
    }
    return {};
  }

  /// Finds the GPU at the far end of each NVLink, and that it links back: NCCL cannot route
  /// otherwise.
  Status resolve_nvlinks() {
    for (size_t g = 0; g < topology_.gpus.size(); ++g) {
      auto& gpu = topology_.gpus[g];
      for (auto& link : gpu.nvlinks) {
        if (link.target_class >> 16 != 0x03) {
          continue;
        }
        const std::string where = xml_name_at(link.line);
        const auto target = parse_bus_id(link.target_bus_id);
        if (!target) {
          return fail(where, "NVLink target \"" + link.target_bus_id +
                                 "\" is not a PCI bus id such as 0000:3b:00.0");
        }
        const auto found = gpu_of_bus_.find({topology_.cpus[gpu.cpu].host, *target});
        if (found == gpu_of_bus_.end()) {
          return fail(where, "NVLink of GPU " + gpu.bus_id + " leads to " + link.target_bus_id +
                                 ", where the file has no GPU");
        }
        if (found->second == static_cast<int>(g) && !options_.allow_self_links) {
          return fail(where, "NVLink of GPU " + gpu.bus_id +
                                 " leads to the GPU itself; expected the bus id of its peer");
        }
        link.target_gpu = found->second;
      }
    }
    for (size_t g = 0; g < topology_.gpus.size(); ++g) {
      for (const auto& link : topology_.gpus[g].nvlinks) {
        if (link.target_gpu >= 0 && !links_to(link.target_gpu, static_cast<int>(g))) {
          return fail(xml_name_at(link.line), "NVLink of GPU " + topology_.gpus[g].bus_id +
                                                  " leads to " + link.target_bus_id +
                                                  ", which has no NVLink back");
        }
      }
    }
    return {};
  }

  bool links_to(int from, int to) const {
    for (const auto& link : topology_.gpus[from].nvlinks) {
      if (link.target_gpu == to) {
        return true;
      }
    }
    return false;
  }

  Result<uint64_t> read_bus_id(pugi::xml_node node, const char* attribute) const {
    const auto text = xml_.read_text(node, attribute);
    if (!text) {
      return tl::unexpected(text.error());
    }
    const auto id = parse_bus_id(*text);
    if (!id) {
      return xml_.error_at(node, std::string(attribute) + "=\"" + text->substr(0, 40) +
                                     "\" is not a PCI bus id such as 0000:3b:00.0");
    }
    return *id;
  }

  /// A hexadecimal number with or without 0x; 0 when absent.
  Result<uint64_t> read_hex(pugi::xml_node node, const char* attribute) const {
    std::string_view digits = node.attribute(attribute).value();
    if (digits.empty()) {
      return uint64_t{0};
    }
    const std::string text(digits);
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      digits.remove_prefix(2);
    }
    uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
    if (digits.empty() || error != std::errc() || stop != end) {
      return xml_.error_at(node, std::string(attribute) + "=\"" + text.substr(0, 40) +
                                     "\": expected a hexadecimal number of up to 64 bits");
    }
    return value;
  }

  /// "16.0 GT/s PCIe" or "16 GT/s" → 16; absent, empty or "Unknown…" (as Linux writes it) → 0.
  Result<double> read_link_speed(pugi::xml_node node) const {
    const std::string text = node.attribute("link_speed").value();
    if (text.empty() || text.starts_with("Unknown")) {
      return 0.0;
    }
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    const std::string_view unit(stop, static_cast<size_t>(end - stop));
    if (error != std::errc() || !unit.starts_with(" GT/s") ||
        !(value >= 0 && value <= kMaxLinkSpeed)) {
      return xml_.error_at(node, "link_speed=\"" + text.substr(0, 40) +
                                     "\": expected one such as \"16.0 GT/s PCIe\", or empty");
    }
    return value;
  }

  tl::unexpected<Error> too_many(pugi::xml_node node, const char* what, size_t limit) const {
    return xml_.error_at(node, std::string("more than ") + std::to_string(limit) + " " + what);
  }

  std::string xml_name_at(int line) const { return xml_.name() + ":" + std::to_string(line); }

  const XmlText& xml_;
  const ReadOptions& options_;
  Topology topology_;
  std::map<uint64_t, int> hosts_;
  std::map<std::pair<int, int>, int> numa_lines_, dev_lines_;
  std::map<int, int> rank_lines_;
  std::map<std::pair<int, uint64_t>, int> bus_lines_, gpu_of_bus_;
};

}  // namespace

Result<Topology> read_topology_text(const std::string& text, const std::string& name,
                                    const ReadOptions& options) {
  const auto xml = XmlText::parse(text, name, "system");
  if (!xml) {
    return tl::unexpected(xml.error());
  }
  auto topology = Reader(*xml, options).read(name);
  if (topology) {
    topology->path = name;
    topology->digest = config::digest_of(text);
  }
  return topology;
}

Result<Topology> read_topology_file(const std::string& path, const ReadOptions& options) {
  const auto text = read_xml_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return read_topology_text(*text, path, options);
}

}  // namespace braid::model
