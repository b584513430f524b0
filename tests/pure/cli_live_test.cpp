// The topology of this machine, built from a made-up /sys and /proc.
#include <gtest/gtest.h>

#include "cli/doctor/live_topology.hpp"
#include "cli_test_support.hpp"
#include "model/topology.hpp"

namespace braid::cli {
namespace {

namespace fs = std::filesystem;

class FakeMachine {
 public:
  FakeMachine() {
    folder_.write("proc/cpuinfo",
                  "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n\n");
    folder_.write("sys/devices/system/node/node0/cpumap", "00ff\n");
    folder_.write("sys/devices/system/node/node1/cpumap", "ff00\n");
    fs::create_directories(folder_.path() + "/sys/bus/pci/devices");
  }

  /// Adds a device at a path below /sys/devices ("pci0000:00/0000:00:01.0/0000:01:00.0").
  void add(const std::string& path, const std::string& speed, int width, int numa) {
    fs::path at = "sys/devices";
    for (const fs::path& part : fs::path(path)) {
      at /= part;
      if (part.string().starts_with("pci")) {
        continue;
      }
      const bool leaf = at.string().ends_with(path);
      const std::string base = at.string() + "/";
      folder_.write(base + "class", leaf ? "0x030200\n" : "0x060400\n");
      folder_.write(base + "max_link_speed", speed + "\n");
      folder_.write(base + "max_link_width", std::to_string(width) + "\n");
      folder_.write(base + "numa_node", std::to_string(numa) + "\n");
    }
    const fs::path device = fs::path(folder_.path()) / at;
    fs::create_symlink(device,
                       folder_.path() + "/sys/bus/pci/devices/" + device.filename().string());
  }

  std::string root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

LiveGpu gpu(const std::string& bus_id, std::vector<std::string> links) {
  return {"GPU", bus_id, 86, 48ull << 30, std::move(links)};
}

TEST(LiveTopology, SwitchesSocketsAndBridges) {
  FakeMachine machine;
  // Two GPUs under one switch on socket 0 (root port, upstream port, downstream port, GPU) and one
  // straight at a root port of socket 1.
  const std::string above = "pci0000:00/0000:00:01.0/0000:01:00.0/";
  machine.add(above + "0000:02:00.0/0000:03:00.0", "16.0 GT/s PCIe", 16, 0);
  machine.add(above + "0000:02:01.0/0000:04:00.0", "16.0 GT/s PCIe", 16, 0);
  machine.add("pci0000:80/0000:80:01.0/0000:81:00.0", "8.0 GT/s PCIe", 8, 1);
  const auto xml =
      live_topology_xml({gpu("00000000:03:00.0", {"00000000:04:00.0", "00000000:04:00.0"}),
                         gpu("00000000:04:00.0", {"00000000:03:00.0", "00000000:03:00.0"}),
                         gpu("00000000:81:00.0", {})},
                        machine.root());
  ASSERT_TRUE(xml) << xml.error().text();
  const auto topology = model::read_topology_text(*xml, "live");
  ASSERT_TRUE(topology) << topology.error().text() << "\n" << *xml;
  ASSERT_EQ(topology->gpus.size(), 3u);
  ASSERT_EQ(topology->cpus.size(), 2u);
  EXPECT_EQ(topology->pci_nodes.size(), 4u) << *xml;  // three GPUs and the switch's upstream port
  const auto parent_of = [&](int g) {
    return topology->pci_nodes[static_cast<size_t>(topology->gpus[static_cast<size_t>(g)].pci_node)]
        .parent;
  };
  EXPECT_EQ(parent_of(0), parent_of(1));
  EXPECT_GE(parent_of(0), 0);
  EXPECT_EQ(parent_of(2), -1);
  EXPECT_EQ(topology->gpus[0].nvlinks.at(0).count, 2);
  EXPECT_EQ(topology->gpus[0].nvlinks.at(0).target_gpu, 1);
  EXPECT_NE(topology->gpus[2].cpu, topology->gpus[0].cpu);
  EXPECT_EQ(topology->cpus[0].vendor, "AuthenticAMD");
}

TEST(LiveTopology, AMissingDeviceIsNamed) {
  FakeMachine machine;
  const auto xml = live_topology_xml({gpu("00000000:03:00.0", {})}, machine.root());
  ASSERT_FALSE(xml);
  EXPECT_NE(xml.error().text().find("0000:03:00.0"), std::string::npos);
}

}  // namespace
}  // namespace braid::cli
