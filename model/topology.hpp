// A box (or several) as NCCL's topology XML describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::model {

/// NVLink from a GPU to another GPU, to an NVSwitch, or to the CPU.
struct NvLink {
  std::string target_bus_id;  // as in the file
  uint32_t target_class = 0;  // PCI class: 0x030200 GPU, 0x068000 NVSwitch
  int count = 0;
  int target_gpu = -1;  // index into Topology::gpus, -1: not a GPU of this box
  int line = 0;
};

/// A node of the PCI tree: a switch/bridge, a GPU or a NIC.
struct PciNode {
  std::string bus_id;
  uint32_t device_class = 0;
  uint64_t device_id = 0;     // vendor, device, subsystem vendor, subsystem device, 16 bits each
  double link_speed_gts = 0;  // GT/s a lane; 0 when the file leaves it empty
  int link_width = 0;
  int parent = -1;  // index into Topology::pci_nodes, -1: attached to `cpu`
  int cpu = -1;     // index into Topology::cpus
  int line = 0;
};

struct Cpu {
  int numa_id = 0;
  std::string arch, vendor;
  int family_id = -1, model_id = -1;
  std::string affinity;
  uint64_t host_hash = 0;
  int host = 0;  // number of the host (system) it belongs to
  int line = 0;
};

struct Gpu {
  int dev = 0;                 // NVML index, as in the file
  int rank = -1;               // -1 when the file has none
  int compute_capability = 0;  // `sm` in the file: 86
  bool gdr = false;
  int pci_node = -1;  // index into Topology::pci_nodes
  int cpu = -1;
  std::string bus_id;
  std::vector<NvLink> nvlinks;
  int line = 0;
};

struct Nic {
  std::string name;
  int dev = 0;
  double speed_mbps = 0;
  int port = 0;
  uint64_t guid = 0;
  int pci_node = -1;
  int cpu = -1;
  int line = 0;
};

struct Topology {
  std::string path;
  std::vector<Cpu> cpus;
  std::vector<PciNode> pci_nodes;
  std::vector<Gpu> gpus;  // in file order
  std::vector<Nic> nics;
  int version = 0;
  uint64_t digest = 0;  // of the file's bytes

  /// Indices into gpus, sorted by dev: device ordinal i of the box is gpus[by_dev()[i]].
  std::vector<int> by_dev() const;
};

/// What a reader of topology files lets pass.
struct ReadOptions {
  /// NVLinks of a GPU to itself are kept instead of refused. NCCL reads such files without a word
  /// and leaves the NVLinks unused; only for comparing with what NCCL does on them.
  bool allow_self_links = false;
};

/// Reads a topology file. Errors name file and line and say what was expected. Refuses files over
/// 100 MB, text that is not UTF-8, DOCTYPEs, duplicate or missing bus ids and devs, absurd counts
/// and widths, links to nowhere or self, and files that list no GPU. Elements and attributes it
/// does not know are skipped. A GPU's `rank`, and a CPU's `host_hash`, may be absent.
Result<Topology> read_topology_file(const std::string& path, const ReadOptions& options = {});
/// The same from text; `name` stands for the file in messages.
Result<Topology> read_topology_text(const std::string& text, const std::string& name,
                                    const ReadOptions& options = {});

/// The box with only these GPUs (indices into gpus); links to others are dropped.
Topology subset_topology(const Topology& topology, const std::vector<int>& gpu_indices);

/// "bridged-pairs": every GPU has NVLink to exactly one other, which links back; "nvswitch": every
/// GPU reaches an NVSwitch; "pcie": no NVLink between GPUs; "cube-mesh": NVLink from GPU to GPU
/// only, joining all of them, and some to more than one; "mixed": anything else.
std::string class_of(const Topology& topology);

}  // namespace braid::model
