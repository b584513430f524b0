#include "cli/doctor/system_hints.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/format.hpp"

namespace braid::cli {
namespace fs = std::filesystem;
namespace {

// PCI Express base specification: extended capabilities start at 0x100; a header holds the id in
// its low 16 bits and the next offset in its high 12. Access Control Services has id 0x0d and its
// control register at +6; bits 2 and 3 redirect peer requests and completions to the root complex.
constexpr size_t kExtendedStart = 0x100;
constexpr unsigned kAcsId = 0x0d;
constexpr size_t kAcsControl = 6;
constexpr unsigned kRedirectBits = 0x0c;

unsigned word(const std::string& bytes, size_t at, int size) {
  unsigned value = 0;
  for (int i = size - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
  }
  return value;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

SystemHint iommu_hint() {
  const std::vector<std::string> units = entries_of("/sys/class/iommu");
  if (units.empty()) {
    return {"IOMMU", "off, or not visible here", false, ""};
  }
  return {
      "IOMMU", fmt::format("on ({})", fmt::join(units, ", ")), true,
      "GPU-to-GPU copies over PCIe may be slow or fail; bare metal usually wants iommu=pt or off"};
}

SystemHint acs_hint() {
  int bridges = 0, redirecting = 0, unreadable = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/bus/pci/devices", error)) {
    if (read_text(entry.path() / "class").rfind("0x0604", 0) != 0) {
      continue;
    }
    ++bridges;
    const AcsState state = acs_state(read_text(entry.path() / "config"));
    redirecting += state == AcsState::kRedirects;
    unreadable += state == AcsState::kUnreadable;
  }
  if (bridges == 0) {
    return {"PCIe ACS", "no PCIe bridge visible here", false, ""};
  }
  if (redirecting > 0) {
    return {"PCIe ACS", fmt::format("{} of {} bridges redirect peer traffic", redirecting, bridges),
            true, "GPUs under one switch talk through the CPU; disable ACS on bare metal"};
  }
  if (unreadable > 0) {
    return {"PCIe ACS",
            fmt::format("unknown for {} of {} bridges (needs root)", unreadable, bridges), false,
            "run doctor as root to read the bridges' configuration"};
  }
  return {"PCIe ACS", fmt::format("off on all {} bridges", bridges), false, ""};
}

SystemHint mps_hint(const EnvironmentBlock& environment) {
  const std::string folder = environment.get_or("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps");
  std::error_code error;
  if (!fs::exists(fs::path(folder) / "control", error)) {
    return {"MPS", "not running", false, ""};
  }
  return {"MPS", fmt::format("pipe in {}", folder), true,
          "processes share the GPU's SMs; times measured under MPS depend on the neighbours"};
}

SystemHint shared_memory_hint() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) {
    return {"/dev/shm", "absent", true, "NCCL's host-memory transport needs it"};
  }
  const uint64_t bytes = static_cast<uint64_t>(status.f_frsize) * status.f_blocks;
  const bool small = bytes < (1ull << 30);
  return {"/dev/shm", format_bytes(bytes), small,
          small ? "small: NCCL's host-memory transport and virtual GPUs keep their buffers there "
                  "(containers: --shm-size)"
                : ""};
}

}  // namespace

AcsState acs_state(const std::string& configuration) {
  if (configuration.size() <= kExtendedStart + 4) {
    return AcsState::kUnreadable;
  }
  size_t at = kExtendedStart;
  for (int steps = 0; steps < 64 && at >= kExtendedStart && at + 8 <= configuration.size();
       ++steps) {
    const unsigned header = word(configuration, at, 4);
    if ((header & 0xffff) == kAcsId) {
      return (word(configuration, at + kAcsControl, 2) & kRedirectBits) != 0 ? AcsState::kRedirects
                                                                             : AcsState::kOff;
    }
    at = header >> 20;
  }
  return AcsState::kAbsent;
}

std::vector<SystemHint> read_system_hints(const EnvironmentBlock& environment) {
  return {iommu_hint(), acs_hint(), mps_hint(environment), shared_memory_hint()};
}

}  // namespace braid::cli
