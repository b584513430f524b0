// The model of stock NCCL against what NCCL 2.28.9 itself answered (shared data, stock_rings.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "model/stock_nccl.hpp"
#include "topology_test_support.hpp"

namespace braid::model::test {
namespace {

using config::Collective;
using Channels = std::vector<std::vector<int>>;
using nlohmann::json;

/// Rotated so that a ring starts at rank 0.
Channels rotated(Channels rings) {
  for (auto& ring : rings) {
    std::rotate(ring.begin(), std::min_element(ring.begin(), ring.end()), ring.end());
  }
  return rings;
}

/// The topology's GPUs in the order of the record's ranks.
std::vector<int> gpus_by_rank(const Topology& topology, const json& record) {
  std::vector<int> gpus(record["ranks"].size(), -1);
  for (const auto& rank : record["ranks"]) {
    for (size_t g = 0; g < topology.gpus.size(); ++g) {
      if (topology.gpus[g].dev == rank["dev"].get<int>()) {
        gpus[rank["rank"].get<size_t>()] = static_cast<int>(g);
      }
    }
  }
  return gpus;
}

void expect_graph(const ChannelGraph& graph, const json& wanted, bool ring) {
  EXPECT_EQ(graph.pattern, wanted["pattern"].get<int>());
  EXPECT_DOUBLE_EQ(graph.speed_intra_gbps, wanted["speed_intra_gbps"].get<double>());
  EXPECT_EQ(name_of(graph.type_intra), wanted["type_intra"].get<std::string>());
  EXPECT_EQ(graph.same_channels, wanted["same_channels"].get<int>() != 0);
  const auto channels = wanted["channels"].get<Channels>();
  if (ring) {
    EXPECT_EQ(rotated(graph.channels), rotated(channels));
    EXPECT_EQ(graph.fell_back_to_simple_order, wanted["fell_back_to_simple_order"].get<bool>());
  } else {
    EXPECT_EQ(graph.channels, channels);
  }
}

struct ModelRow {
  Collective collective;
  int algorithm, protocol;
};

std::map<std::string, ModelRow> model_rows() {
  std::map<std::string, ModelRow> rows;
  const std::pair<const char*, Collective> collectives[] = {
      {"allreduce", Collective::kAllReduce},
      {"allgather", Collective::kAllGather},
      {"reducescatter", Collective::kReduceScatter}};
  const char* const algorithms[] = {"tree", "ring"};
  const char* const protocols[] = {"ll", "ll128", "simple"};
  for (const auto& [name, collective] : collectives) {
    for (int a = 0; a < 2; ++a) {
      for (int p = 0; p < kProtocols; ++p) {
        rows[std::string(name) + "_" + algorithms[a] + "_" + protocols[p]] = {collective, a, p};
      }
    }
  }
  return rows;
}

/// The record's own model as a plan, to compare choices.
StockPlan plan_of_record(const StockPlan& like, const json& model) {
  StockPlan plan = like;
  for (const auto& [name, row] : model_rows()) {
    const auto c = static_cast<size_t>(row.collective);
    const bool present = model.contains(name);
    plan.latency_us[c][row.algorithm][row.protocol] =
        present ? model[name]["latency_us"].get<double>() : 0;
    plan.bandwidth_gbps[c][row.algorithm][row.protocol] =
        present ? model[name]["algbw_gbps"].get<double>() : 0;
  }
  return plan;
}

TEST(StockData, EveryRecordIsReproduced) {
  const auto data = shared_data();
  if (data.empty()) {
    GTEST_SKIP() << "no shared data";
  }
  const json all = json::parse(read_text(data / "stock_rings.json"));
  int compared = 0;
  for (const auto& record : all["records"]) {
    const std::string file = record["file"];
    SCOPED_TRACE(file);
    if (record["status"] != "ok") {
      continue;
    }
    const auto topology = read_topology_file((data / file).string(), {.allow_self_links = true});
    ASSERT_TRUE(topology) << topology.error().text();
    const auto plan = plan_stock(*topology, gpus_by_rank(*topology, record), {});
    ASSERT_TRUE(plan) << plan.error().text();
    ++compared;

    expect_graph(plan->ring, record["ring"], true);
    expect_graph(plan->tree, record["tree"], false);
    EXPECT_EQ(plan->ring_channels.size(), record["channels_after_duplication"].get<size_t>());
    EXPECT_EQ(plan->tree_channels.size(), record["channels_after_duplication"].get<size_t>());

    for (const auto& [name, row] : model_rows()) {
      if (!record["model"].contains(name)) {
        continue;
      }
      SCOPED_TRACE(name);
      const auto c = static_cast<size_t>(row.collective);
      const auto& wanted = record["model"][name];
      const double latency = wanted["latency_us"], bandwidth = wanted["algbw_gbps"];
      EXPECT_NEAR(plan->latency_us[c][row.algorithm][row.protocol], latency, 0.001 * latency);
      EXPECT_NEAR(plan->bandwidth_gbps[c][row.algorithm][row.protocol], bandwidth,
                  0.001 * bandwidth);
    }
    const StockPlan theirs = plan_of_record(*plan, record["model"]);
    for (const auto collective :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
      for (uint64_t bytes = 8; bytes <= 1ull << 33; bytes *= 2) {
        const auto mine = choose(*plan, cost_table(*plan, collective, bytes), collective, bytes);
        const auto want = choose(theirs, cost_table(theirs, collective, bytes), collective, bytes);
        EXPECT_EQ(mine.algorithm, want.algorithm) << bytes;
        EXPECT_EQ(mine.protocol, want.protocol) << bytes;
      }
    }
  }
  EXPECT_GE(compared, 23);
}

}  // namespace
}  // namespace braid::model::test
