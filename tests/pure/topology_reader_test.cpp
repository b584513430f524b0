#include <gtest/gtest.h>

#include <filesystem>

#include "model/bus_id.hpp"
#include "model/topology.hpp"
#include "model/xml_text.hpp"
#include "topology_test_support.hpp"

namespace braid::model::test {
namespace {

TEST(BusId, SpellingsOfOneAddressAreEqual) {
  EXPECT_EQ(parse_bus_id("0000:3b:00.0"), parse_bus_id("00000000:3B:00.0"));
  EXPECT_EQ(parse_bus_id("3b:00.0"), parse_bus_id("0000:3b:00.0"));
  EXPECT_NE(parse_bus_id("0000:3b:00.0"), parse_bus_id("0001:3b:00.0"));
  EXPECT_NE(parse_bus_id("0000:3b:00.0"), parse_bus_id("0000:3b:00.1"));
}

TEST(BusId, RefusesWhatIsNone) {
  for (const char* text :
       {"", "gpu0", "0000:3b:00", "0000:3b:00.", "0000:3b:000.0", "0000:xx:00.0", "0:0000:3b:00.0",
        "0000:3b:00.00", "-001:3b:00.0", "000000000:3b:00.0"}) {
    EXPECT_FALSE(parse_bus_id(text)) << text;
  }
}

TEST(TopologyReader, ReadsDevicesLinksAndLines) {
  const auto text = box_xml({.gpus = 4, .sockets = 2, .gpus_per_switch = 2});
  const auto topology = read_topology_text(text, "box.xml");
  ASSERT_TRUE(topology) << topology.error().text();
  ASSERT_EQ(topology->gpus.size(), 4u);
  ASSERT_EQ(topology->cpus.size(), 2u);
  EXPECT_EQ(topology->pci_nodes.size(), 6u);
  EXPECT_EQ(topology->version, 1);
  EXPECT_EQ(topology->path, "box.xml");
  EXPECT_NE(topology->digest, 0u);
  EXPECT_EQ(class_of(*topology), "bridged-pairs");
  const Gpu& gpu = topology->gpus[1];
  EXPECT_EQ(gpu.dev, 1);
  EXPECT_EQ(gpu.rank, 1);
  EXPECT_EQ(gpu.compute_capability, 86);
  ASSERT_EQ(gpu.nvlinks.size(), 1u);
  EXPECT_EQ(gpu.nvlinks[0].target_gpu, 0);
  EXPECT_EQ(gpu.nvlinks[0].count, 4);
  const PciNode& pci = topology->pci_nodes[gpu.pci_node];
  EXPECT_EQ(pci.link_speed_gts, 16.0);
  EXPECT_EQ(pci.link_width, 16);
  EXPECT_EQ(topology->pci_nodes[pci.parent].device_class, 0x060400u);
  EXPECT_EQ(topology->gpus[0].line, 5);
  EXPECT_EQ(topology->gpus[0].nvlinks[0].line, 6);
}

TEST(TopologyReader, RanksAndHostHashesMayBeAbsentOrPresent) {
  const auto without = make_box({.ranks = false});
  EXPECT_EQ(without.gpus[0].rank, -1);
  EXPECT_EQ(without.cpus[0].host_hash, 0u);

  const std::string two_hosts = R"(<?xml version="1.0"?>
<system version="1">
  <cpu host_hash="0x1f00000000000001" numaid="0"><pci busid="0000:10:00.0"><gpu dev="0" sm="80" rank="1"/></pci></cpu>
  <cpu host_hash="0xff00000000000002" numaid="0"><pci busid="0000:10:00.0"><gpu dev="0" sm="80" rank="0"/></pci></cpu>
</system>)";
  const auto hosts = read_topology_text(two_hosts, "two.xml");
  ASSERT_TRUE(hosts) << hosts.error().text();
  EXPECT_EQ(hosts->cpus[1].host_hash, 0xff00000000000002u);
  EXPECT_EQ(hosts->cpus[1].host, 1);
}

TEST(TopologyReader, EmptySpeedIsUnknownAndNicsAreKept) {
  const auto topology = read_topology_text(R"(<system version="1">
<cpu numaid="-1">
<nic><net name="eth0" dev="0" speed="100000" port="1" guid="0xab"/><net name="down"/></nic>
<pci busid="0000:10:00.0" class="0x030200" vendor="0x10de" device="0x20b5" link_speed="" link_width="0">
<gpu dev="0" sm="80"/></pci>
<pci busid="0000:11:00.0" class="0x020000" link_speed="Unknown speed" link_width="8"><nic><net dev="1"/></nic></pci>
</cpu></system>)",
                                           "nics.xml");
  ASSERT_TRUE(topology) << topology.error().text();
  EXPECT_EQ(topology->pci_nodes[0].link_speed_gts, 0);
  EXPECT_EQ(topology->pci_nodes[0].link_width, 0);
  EXPECT_EQ(topology->pci_nodes[0].device_id, 0x10de20b500000000u);
  ASSERT_EQ(topology->nics.size(), 2u);
  EXPECT_EQ(topology->nics[0].name, "eth0");
  EXPECT_EQ(topology->nics[0].guid, 0xabu);
  EXPECT_EQ(topology->nics[0].pci_node, -1);
  EXPECT_EQ(topology->nics[1].pci_node, 1);
}

TEST(Topology, OrdersByDevAndTakesSubsets) {
  const std::string text = R"(<system version="1"><cpu numaid="0">
<pci busid="0000:10:00.0"><gpu dev="2" sm="86"><nvlink target="0000:12:00.0" count="4" tclass="0x030200"/></gpu></pci>
<pci busid="0000:11:00.0"><gpu dev="0" sm="86"/></pci>
<pci busid="0000:12:00.0"><gpu dev="1" sm="86"><nvlink target="0000:10:00.0" count="4" tclass="0x030200"/></gpu></pci>
</cpu></system>)";
  const auto topology = read_topology_text(text, "t.xml");
  ASSERT_TRUE(topology) << topology.error().text();
  EXPECT_EQ(topology->by_dev(), (std::vector{1, 2, 0}));
  EXPECT_EQ(class_of(*topology), "mixed");

  const auto pair = subset_topology(*topology, {2, 0});
  ASSERT_EQ(pair.gpus.size(), 2u);
  EXPECT_EQ(pair.gpus[0].nvlinks[0].target_gpu, 1);
  EXPECT_EQ(pair.gpus[1].nvlinks[0].target_gpu, 0);
  EXPECT_EQ(class_of(pair), "bridged-pairs");
  EXPECT_TRUE(subset_topology(*topology, {0, 1}).gpus[0].nvlinks.empty());
}

TEST(Topology, ClassesOfBoxes) {
  EXPECT_EQ(class_of(make_box({.nvlinks = NvLinks::kPairs})), "bridged-pairs");
  EXPECT_EQ(class_of(make_box({.nvlinks = NvLinks::kNone})), "pcie");
  EXPECT_EQ(class_of(make_box({.nvlinks = NvLinks::kSwitch})), "nvswitch");
  EXPECT_EQ(class_of(make_box({.nvlinks = NvLinks::kAllToAll})), "cube-mesh");
  EXPECT_EQ(class_of(make_box({.gpus = 1, .nvlinks = NvLinks::kNone})), "pcie");
}

struct BadInput {
  const char* name;
  const char* text;
  const char* where;  // file and line of the message
  const char* what;   // words it must hold
};

std::ostream& operator<<(std::ostream& out, const BadInput& bad) { return out << bad.name; }

class BadTopology : public testing::TestWithParam<BadInput> {};

TEST_P(BadTopology, IsRefusedWithPlaceAndReason) {
  const auto topology = read_topology_text(GetParam().text, "bad.xml");
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().where, GetParam().where) << topology.error().text();
  EXPECT_NE(topology.error().what.find(GetParam().what), std::string::npos)
      << topology.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadTopology,
    testing::Values(
        BadInput{"Empty", "", "bad.xml", "empty"}, BadInput{"Blank", " \n\t\n", "bad.xml", "empty"},
        BadInput{"NotXml", "hello\nworld", "bad.xml", "no XML element"},
        BadInput{"CutOff", "<system version=\"1\">\n<cpu numaid=\"0\">\n<pci bu", "bad.xml:3",
                 "cut off"},
        BadInput{"CutBetweenElements", "<system version=\"1\">\n<cpu numaid=\"0\">\n", "bad.xml:2",
                 "cut off"},
        BadInput{"WrongRoot", "<graphs version=\"1\"/>", "bad.xml:1", "<system version=\"1\">"},
        BadInput{"SecondRoot", "<system version=\"1\"/>\n<system version=\"1\"/>", "bad.xml:2",
                 "second root"},
        BadInput{"NoVersion", "<system/>", "bad.xml:1", "no attribute 'version'"},
        BadInput{"WrongVersion", "<system version=\"2\"/>", "bad.xml:1", "version=\"2\""},
        BadInput{"NoGpus", "<system version=\"1\"><cpu numaid=\"0\"/></system>", "bad.xml",
                 "no GPUs"},
        BadInput{"Doctype", "<!DOCTYPE s [<!ENTITY a \"b\">]>\n<system version=\"1\"/>", "bad.xml",
                 "DOCTYPE"},
        BadInput{"NotUtf8", "<system version=\"1\">\n<!-- \xc3\x28 --></system>", "bad.xml:2",
                 "UTF-8"},
        BadInput{"Overlong", "<system version=\"1\">\xc0\xaf</system>", "bad.xml:1", "UTF-8"},
        BadInput{"CutUtf8", "<system version=\"1\"/>\xe2\x82", "bad.xml:1", "UTF-8"},
        BadInput{"TwiceAttribute",
                 "<system version=\"1\">\n<cpu numaid=\"0\" numaid=\"1\"/></system>", "bad.xml:2",
                 "twice"},
        BadInput{"NoNuma", "<system version=\"1\">\n<cpu/></system>", "bad.xml:2", "'numaid'"},
        BadInput{"NumaTwice",
                 "<system version=\"1\">\n<cpu numaid=\"0\"/>\n<cpu numaid=\"0\"/></system>",
                 "bad.xml:3", "line 2"},
        BadInput{"BadHostHash",
                 "<system version=\"1\">\n<cpu numaid=\"0\" host_hash=\"0xzz\"/></system>",
                 "bad.xml:2", "hexadecimal"},
        BadInput{
            "GpuOutsidePci",
            "<system version=\"1\"><cpu numaid=\"0\">\n<gpu dev=\"0\" sm=\"80\"/></cpu></system>",
            "bad.xml:2", "inside <pci>"}));

/// The body of one <cpu>, from line 2 on.
std::string in_cpu(const std::string& body) {
  return "<system version=\"1\"><cpu numaid=\"0\">\n" + body + "\n</cpu></system>";
}

class BadDevice : public testing::TestWithParam<BadInput> {};

TEST_P(BadDevice, IsRefusedWithPlaceAndReason) {
  const auto topology = read_topology_text(in_cpu(GetParam().text), "bad.xml");
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().where, GetParam().where) << topology.error().text();
  EXPECT_NE(topology.error().what.find(GetParam().what), std::string::npos)
      << topology.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadDevice,
    testing::Values(
        BadInput{"NoBusId", "<pci/>", "bad.xml:2", "'busid'"},
        BadInput{"WrongBusId", "<pci busid=\"gpu0\"/>", "bad.xml:2", "gpu0"},
        BadInput{"BusIdTwice", "<pci busid=\"0000:10:00.0\"/>\n<pci busid=\"00000000:10:00.0\"/>",
                 "bad.xml:3", "line 2"},
        BadInput{"Loop",
                 "<pci busid=\"0000:10:00.0\"><pci busid=\"0000:11:00.0\">\n"
                 "<pci busid=\"0000:10:00.0\"/></pci></pci>",
                 "bad.xml:3", "loop"},
        BadInput{"Width", "<pci busid=\"0000:10:00.0\" link_width=\"64\"/>", "bad.xml:2",
                 "0 to 32"},
        BadInput{"NegativeWidth", "<pci busid=\"0000:10:00.0\" link_width=\"-1\"/>", "bad.xml:2",
                 "0 to 32"},
        BadInput{"Speed", "<pci busid=\"0000:10:00.0\" link_speed=\"fast\"/>", "bad.xml:2", "fast"},
        BadInput{"SpeedRange", "<pci busid=\"0000:10:00.0\" link_speed=\"9e9 GT/s\"/>", "bad.xml:2",
                 "9e9"},
        BadInput{"Class", "<pci busid=\"0000:10:00.0\" class=\"0x03020000\"/>", "bad.xml:2",
                 "class"},
        BadInput{"NoDev", "<pci busid=\"0000:10:00.0\">\n<gpu sm=\"86\"/></pci>", "bad.xml:3",
                 "'dev'"},
        BadInput{"NoSm", "<pci busid=\"0000:10:00.0\">\n<gpu dev=\"0\"/></pci>", "bad.xml:3",
                 "'sm'"},
        BadInput{"NegativeDev", "<pci busid=\"0000:10:00.0\">\n<gpu dev=\"-1\" sm=\"86\"/></pci>",
                 "bad.xml:3", "dev=\"-1\""},
        BadInput{"DevTwice",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\"/></pci>\n"
                 "<pci busid=\"0000:11:00.0\"><gpu dev=\"0\" sm=\"86\"/></pci>",
                 "bad.xml:3", "dev 0"},
        BadInput{"RankTwice",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\" rank=\"0\"/></pci>\n"
                 "<pci busid=\"0000:11:00.0\"><gpu dev=\"1\" sm=\"86\" rank=\"0\"/></pci>",
                 "bad.xml:3", "rank 0"},
        BadInput{"TwoGpusInOne",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\"/>\n<gpu dev=\"1\" "
                 "sm=\"86\"/></pci>",
                 "bad.xml:3", "second <gpu>"},
        BadInput{"GpuAndDevices",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\"/><pci "
                 "busid=\"0000:11:00.0\"/></pci>",
                 "bad.xml:2", "one or the other"},
        BadInput{
            "NvlinkCount",
            "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\">\n"
            "<nvlink target=\"0000:11:00.0\" count=\"1000000\" tclass=\"0x030200\"/></gpu></pci>",
            "bad.xml:3", "1 to 64"},
        BadInput{"NvlinkZero",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\">\n"
                 "<nvlink target=\"0000:11:00.0\" count=\"0\" tclass=\"0x030200\"/></gpu></pci>",
                 "bad.xml:3", "1 to 64"},
        BadInput{"NvlinkNowhere",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\">\n"
                 "<nvlink target=\"0000:11:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>",
                 "bad.xml:3", "no GPU"},
        BadInput{"NvlinkNoBusId",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\">\n"
                 "<nvlink target=\"x\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>",
                 "bad.xml:3", "not a PCI bus id"},
        BadInput{"NvlinkSelf",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\">\n"
                 "<nvlink target=\"0000:10:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>",
                 "bad.xml:3", "the GPU itself"},
        BadInput{"NvlinkOneWay",
                 "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"86\">\n"
                 "<nvlink target=\"0000:11:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>\n"
                 "<pci busid=\"0000:11:00.0\"><gpu dev=\"1\" sm=\"86\"/></pci>",
                 "bad.xml:3", "no NVLink back"},
        BadInput{"NetSpeed", "<nic>\n<net dev=\"0\" speed=\"quick\"/></nic>", "bad.xml:3",
                 "quick"}));

TEST(TopologyReader, RefusesTooManyGpus) {
  std::string body;
  for (int g = 0; g <= 1024; ++g) {
    body += "<pci busid=\"" + std::to_string(1000 + g) + ":00:00.0\"><gpu dev=\"" +
            std::to_string(g) + "\" sm=\"86\"/></pci>\n";
  }
  const auto topology = read_topology_text(in_cpu(body), "many.xml");
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().text(), "many.xml:1026: more than 1024 GPUs");
}

TEST(TopologyReader, RefusesDeepNesting) {
  std::string open, close;
  for (int i = 0; i < 5000; ++i) {
    open += "<x>\n";
    close += "</x>";
  }
  const auto topology =
      read_topology_text("<system version=\"1\">" + open + close + "</system>", "d.xml");
  ASSERT_FALSE(topology);
  EXPECT_NE(topology.error().what.find("deeper"), std::string::npos) << topology.error().text();
}

TEST(TopologyReader, RefusesFilesThatAreNone) {
  const ScratchFolder folder;
  EXPECT_NE(read_topology_file(folder.path() + "/absent.xml").error().text().find("absent.xml"),
            std::string::npos);
  const auto directory = read_topology_file(folder.path());
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().what.find("not a regular file"), std::string::npos);
}

TEST(TopologyReader, RefusesHugeFilesBeforeReadingThem) {
  const ScratchFolder folder;
  const auto path = folder.write("huge.xml", "<system version=\"1\">");
  std::filesystem::resize_file(path, kMaxXmlBytes + 1);  // sparse: takes no room
  const auto topology = read_topology_file(path);
  ASSERT_FALSE(topology);
  EXPECT_NE(topology.error().what.find("100000001 bytes"), std::string::npos)
      << topology.error().text();
}

TEST(TopologyReader, SelfLinksPassOnlyWhenAskedFor) {
  const auto text = in_cpu(
      "<pci busid=\"0000:10:00.0\"><gpu dev=\"0\" sm=\"80\">"
      "<nvlink target=\"0000:10:00.0\" count=\"12\" tclass=\"0x030200\"/></gpu></pci>");
  EXPECT_FALSE(read_topology_text(text, "self.xml"));
  const auto lenient = read_topology_text(text, "self.xml", {.allow_self_links = true});
  ASSERT_TRUE(lenient) << lenient.error().text();
  EXPECT_EQ(lenient->gpus[0].nvlinks[0].target_gpu, 0);
  EXPECT_EQ(class_of(*lenient), "pcie");
}

TEST(SharedTopologies, AreReadOrRefusedAsTheirNamesSay) {
  const auto data = shared_data();
  if (data.empty()) {
    GTEST_SKIP() << "no shared data";
  }
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data / "topologies")) {
    const std::string name = entry.path().filename().string();
    const auto topology = read_topology_file(entry.path().string());
    ++seen;
    if (name.find("_partial") != std::string::npos) {
      ASSERT_FALSE(topology) << name;
      EXPECT_NE(topology.error().what.find("no GPUs"), std::string::npos) << name;
    } else if (name.rfind("neg_", 0) == 0) {
      ASSERT_FALSE(topology) << name;
      EXPECT_NE(topology.error().text().find(name + ":5: "), std::string::npos)
          << topology.error().text();
      EXPECT_NE(topology.error().what.find("the GPU itself"), std::string::npos);
    } else {
      EXPECT_TRUE(topology) << topology.error().text();
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(ShippedTopologies, AreReadAndOfTheClassTheirNamesSay) {
  const std::filesystem::path folder =
      std::filesystem::path(BRAID_SOURCE_DIR) / "config/topologies";
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const auto topology = read_topology_file(entry.path().string());
    ASSERT_TRUE(topology) << topology.error().text();
    const std::string box_class = class_of(*topology);
    const std::string word = box_class == "bridged-pairs" ? "-bridged-" : "-" + box_class + "-";
    EXPECT_NE(name.find(word), std::string::npos) << name << " is " << box_class;
    EXPECT_NE(name.find("x" + std::to_string(topology->gpus.size()) + "-"), std::string::npos)
        << name;
    EXPECT_NE(name.find(std::to_string(topology->cpus.size()) + "socket"), std::string::npos)
        << name;
    ++seen;
  }
  EXPECT_GE(seen, 7);
}

}  // namespace
}  // namespace braid::model::test
