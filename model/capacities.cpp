#include "model/capacities.hpp"

#include <cmath>

namespace braid::model {
namespace {

struct PcieGeneration {
  double gts;
  int lane;  // in units of 12.5 MB/s: 60 → 0.75 GB/s
};
constexpr PcieGeneration kGenerations[] = {{2.5, 15}, {5, 30},   {8, 60},
                                           {16, 120}, {32, 240}, {64, 480}};
constexpr int kUnknownLane = 60;
constexpr int kUnknownWidth = 16;

bool is_x86(const Cpu& cpu) { return cpu.arch == "x86_64"; }

bool is_zhaoxin(const Cpu& cpu) {
  return is_x86(cpu) && (cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ");
}

Mbps intel_socket_mbps(const Cpu& cpu) {
  if (cpu.family_id == 6 && cpu.model_id >= 0xcf) {
    return 40'000;  // Emerald Rapids
  }
  if (cpu.family_id == 6 && cpu.model_id >= 0x8f) {
    return 22'000;  // Sapphire Rapids
  }
  if (cpu.family_id == 6 && cpu.model_id >= 0x55) {
    return 10'000;  // Skylake to Ice Lake
  }
  return 6'000;  // Broadwell and before
}

}  // namespace

bool is_intel(const Cpu& cpu) { return is_x86(cpu) && cpu.vendor == "GenuineIntel"; }

bool is_amd(const Cpu& cpu) { return is_x86(cpu) && cpu.vendor == "AuthenticAMD"; }

Mbps pcie_mbps(const PciNode& node) {
  int lane = kUnknownLane;
  for (const auto& generation : kGenerations) {
    if (node.link_speed_gts == generation.gts) {
      lane = generation.lane;
    }
  }
  const int width = node.link_width == 0 ? kUnknownWidth : node.link_width;
  return std::llround(width * lane * 12.5);
}

Mbps nvlink_mbps(int compute_capability) {
  if (compute_capability >= 100) {
    return 40'100;
  }
  if (compute_capability >= 90) {
    return 20'600;
  }
  if (compute_capability == 86) {
    return 12'000;
  }
  if (compute_capability >= 60 && compute_capability < 70) {
    return 18'000;
  }
  return 20'000;
}

Mbps socket_mbps(const Cpu& cpu) {
  if (is_intel(cpu)) {
    return intel_socket_mbps(cpu);
  }
  if (is_amd(cpu)) {
    return 16'000;
  }
  if (is_zhaoxin(cpu)) {
    return cpu.family_id == 7 && cpu.model_id == 0x5b ? 9'000 : 6'000;
  }
  if (cpu.arch == "ppc64") {
    return 32'000;
  }
  return 6'000;  // arm64, and CPUs the file does not name
}

}  // namespace braid::model
