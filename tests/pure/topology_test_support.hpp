// Boxes for tests: written from a description, drawn at random, or read from the shared data.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model/topology.hpp"

namespace braid::model::test {

inline const char* const kAmd = R"(vendor="AuthenticAMD" familyid="23" modelid="49")";
inline const char* const kIceLake = R"(vendor="GenuineIntel" familyid="6" modelid="106")";
inline const char* const kSapphireRapids = R"(vendor="GenuineIntel" familyid="6" modelid="143")";

enum class NvLinks { kNone, kPairs, kAllToAll, kSwitch };

struct BoxSpec {
  int gpus = 4;
  int sockets = 1;
  int gpus_per_switch = 0;  // 0: on root ports
  int sm = 86;
  std::string speed = "16.0 GT/s PCIe";
  std::string cpu = kAmd;
  NvLinks nvlinks = NvLinks::kPairs;
  int nvlink_count = 4;
  bool ranks = true;
};

inline std::string hex_byte(int value) {
  std::ostringstream text;
  text << std::hex << (value < 16 ? "0" : "") << value;
  return text.str();
}

inline std::string bus_of_gpu(int gpu) { return "0000:" + hex_byte(0x10 + gpu) + ":00.0"; }

/// One element a line, so that tests can name lines.
inline std::string box_xml(const BoxSpec& spec) {
  std::ostringstream xml;
  xml << "<system version=\"1\">\n";
  const int per_socket = spec.gpus / spec.sockets;
  for (int s = 0; s < spec.sockets; ++s) {
    xml << "<cpu numaid=\"" << s << "\" arch=\"x86_64\" " << spec.cpu << ">\n";
    for (int k = 0; k < per_socket; ++k) {
      const int gpu = s * per_socket + k;
      const std::string link = "link_speed=\"" + spec.speed + "\" link_width=\"16\"";
      const bool opens = spec.gpus_per_switch > 0 && k % spec.gpus_per_switch == 0;
      const bool closes =
          spec.gpus_per_switch > 0 &&
          (k % spec.gpus_per_switch == spec.gpus_per_switch - 1 || k == per_socket - 1);
      if (opens) {
        xml << "<pci busid=\"0000:" << hex_byte(0x80 + gpu) << ":00.0\" class=\"0x060400\" " << link
            << ">\n";
      }
      xml << "<pci busid=\"" << bus_of_gpu(gpu) << "\" class=\"0x030200\" " << link << ">\n"
          << "<gpu dev=\"" << gpu << "\" sm=\"" << spec.sm << "\"";
      if (spec.ranks) {
        xml << " rank=\"" << gpu << "\"";
      }
      xml << " gdr=\"0\">\n";
      const auto nvlink = [&](const std::string& target, const char* target_class) {
        xml << "<nvlink target=\"" << target << "\" count=\"" << spec.nvlink_count << "\" tclass=\""
            << target_class << "\"/>\n";
      };
      for (int peer = 0; peer < spec.gpus; ++peer) {
        const bool pair = spec.nvlinks == NvLinks::kPairs && peer == (gpu ^ 1);
        const bool all = spec.nvlinks == NvLinks::kAllToAll && peer != gpu;
        if (pair || all) {
          nvlink(bus_of_gpu(peer), "0x030200");
        }
      }
      if (spec.nvlinks == NvLinks::kSwitch) {
        nvlink("0000:c0:00.0", "0x068000");
      }
      xml << "</gpu>\n</pci>\n" << (closes ? "</pci>\n" : "");
    }
    xml << "</cpu>\n";
  }
  xml << "</system>\n";
  return xml.str();
}

inline Topology make_box(const BoxSpec& spec) {
  auto topology = read_topology_text(box_xml(spec), "box.xml");
  EXPECT_TRUE(topology) << topology.error().text();
  return topology ? *topology : Topology{};
}

template <typename T>
const T& pick(std::mt19937_64& random, const std::vector<T>& from) {
  return from[random() % from.size()];
}

inline BoxSpec draw_box(std::mt19937_64& random) {
  BoxSpec spec;
  spec.sockets = pick(random, std::vector{1, 2});
  spec.gpus = spec.sockets * pick(random, std::vector{1, 2, 4});
  spec.gpus_per_switch = pick(random, std::vector{0, 1, 2, 4});
  spec.sm = pick(random, std::vector{70, 80, 86, 89, 90, 100});
  spec.speed = pick(random, std::vector<std::string>{"", "2.5 GT/s", "8.0 GT/s PCIe", "16 GT/s",
                                                     "32.0 GT/s PCIe"});
  spec.cpu = pick(random, std::vector<std::string>{kAmd, kIceLake, kSapphireRapids});
  spec.nvlinks = pick(
      random, std::vector{NvLinks::kNone, NvLinks::kPairs, NvLinks::kAllToAll, NvLinks::kSwitch});
  if (spec.gpus % 2 != 0 && spec.nvlinks == NvLinks::kPairs) {
    spec.nvlinks = NvLinks::kNone;
  }
  spec.nvlink_count = 1 + static_cast<int>(random() % 12);
  return spec;
}

/// Seed of a property test: BRAID_TEST_SEED, or fixed. Tests print it.
inline uint64_t test_seed() {
  const char* text = std::getenv("BRAID_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 20260101;
}

/// The shared data folder, or an empty path where it is absent.
inline std::filesystem::path shared_data() {
  const char* text = std::getenv("BRAID_SHARED_DATA");
  const std::filesystem::path folder =
      text != nullptr ? std::filesystem::path(text)
                      : std::filesystem::path(BRAID_SOURCE_DIR).parent_path() / "shared" / "data";
  return std::filesystem::exists(folder / "stock_rings.json") ? folder : std::filesystem::path();
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder of its own that goes away with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "braid-test-XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? "" : name;
    EXPECT_FALSE(path_.empty());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    const auto path = std::filesystem::path(path_) / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace braid::model::test
