// Damaged topology files: always an error or a valid box, never a crash.
#include <gtest/gtest.h>

#include <random>

#include "model/link_graph.hpp"
#include "model/stock_nccl.hpp"
#include "model/topology.hpp"
#include "topology_test_support.hpp"

namespace braid::model::test {
namespace {

constexpr int kFiles = 2000;

std::string damage(const std::string& text, std::mt19937_64& random) {
  std::string broken = text;
  const int times = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < times && !broken.empty(); ++i) {
    const size_t at = random() % broken.size();
    const size_t length = std::min<size_t>(1 + random() % 40, broken.size() - at);
    switch (random() % 8) {
      case 0:
        broken[at] = static_cast<char>(random());
        break;
      case 1:
        broken.erase(at, length);
        break;
      case 2:
        broken.resize(at);
        break;
      case 3:
        broken.insert(at, broken.substr(random() % broken.size(), length));
        break;
      case 4:  // another digit: counts, ids, widths
        for (size_t k = at; k < broken.size(); ++k) {
          if (std::isdigit(static_cast<unsigned char>(broken[k])) != 0) {
            broken[k] = static_cast<char>('0' + random() % 10);
            break;
          }
        }
        break;
      case 5: {  // one line twice, or lines exchanged
        const size_t end = broken.find('\n', at);
        const size_t begin = broken.rfind('\n', at);
        if (begin != std::string::npos && end != std::string::npos && begin < end) {
          const std::string line = broken.substr(begin, end - begin);
          broken.insert(random() % 2 == 0 ? end : random() % broken.size(), line);
        }
        break;
      }
      case 6:
        broken.insert(
            at, std::vector<std::string>{"&#0;", "&lt;", "<!DOCTYPE a>", "<![CDATA[x]]>",
                                         "99999999999999999999", "\xff", "<pci>",
                                         "<gpu dev=\"0\" sm=\"86\"/>", "</cpu>"}[random() % 9]);
        break;
      default: {  // an attribute name that is not one
        const size_t equals = broken.find('=', at);
        if (equals != std::string::npos && equals > 0) {
          broken[equals - 1] = 'x';
        }
      }
    }
  }
  return broken;
}

void check_valid(const Topology& topology) {
  ASSERT_FALSE(topology.gpus.empty());
  const auto n = static_cast<int>(topology.gpus.size());
  for (const auto& gpu : topology.gpus) {
    ASSERT_GE(gpu.pci_node, 0);
    ASSERT_LT(gpu.pci_node, static_cast<int>(topology.pci_nodes.size()));
    ASSERT_LT(gpu.cpu, static_cast<int>(topology.cpus.size()));
    for (const auto& link : gpu.nvlinks) {
      ASSERT_LT(link.target_gpu, n);
    }
  }
  class_of(topology);
  const LinkGraph graph = build_link_graph(topology);
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      ASSERT_EQ(graph.route(a, b).empty(), a == b || topology.cpus[topology.gpus[a].cpu].host !=
                                                         topology.cpus[topology.gpus[b].cpu].host);
    }
  }
  const auto plan = plan_stock(topology, topology.by_dev(), {});
  if (plan) {
    ASSERT_FALSE(plan->ring_channels.empty());
  }
}

TEST(TopologyFuzz, DamagedFilesAreRefusedOrValid) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  SCOPED_TRACE("BRAID_TEST_SEED=" + std::to_string(seed));
  int valid = 0;
  for (int i = 0; i < kFiles; ++i) {
    SCOPED_TRACE("file " + std::to_string(i));
    const std::string text = damage(box_xml(draw_box(random)), random);
    const auto topology = read_topology_text(text, "damaged.xml");
    if (topology) {
      ++valid;
      check_valid(*topology);
    } else {
      ASSERT_EQ(topology.error().where.rfind("damaged.xml", 0), 0u) << topology.error().text();
      ASSERT_FALSE(topology.error().what.empty());
    }
    if (HasFatalFailure()) {
      return;
    }
  }
  RecordProperty("valid", valid);
  EXPECT_GT(valid, kFiles / 50);
  EXPECT_LT(valid, kFiles);
}

}  // namespace
}  // namespace braid::model::test
