// Documents: the JSON of topo and compare, the drawing of a box, the HTML report.
#include <gtest/gtest.h>

#include "cli/compare/comparison.hpp"
#include "cli/gpu_choice.hpp"
#include "cli/report/box.hpp"
#include "cli/report/report_page.hpp"
#include "cli_test_support.hpp"
#include "model/trace_builder.hpp"

namespace braid::cli {
namespace {

namespace trace = model::trace;

model::Topology pair() {
  auto topology = model::read_topology_text(bridged_pair_xml(), "pair.xml");
  EXPECT_TRUE(topology) << topology.error().text();
  return *topology;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) {
    keys.push_back(key);
  }
  return keys;
}

TEST(TopoJson, HasTheContractsKeys) {
  const Json json = box_json(describe_box(pair(), {}));
  for (const char* key : {"gpus", "class", "links", "stock", "schemes", "bound"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json.at("gpus").size(), 2u);
  EXPECT_EQ(json.at("class"), "bridged-pairs");
  EXPECT_EQ(keys_of(json.at("links")[0]), (std::vector<std::string>{"from", "to", "kind", "gbps"}));
  const Json& stock = json.at("stock");
  EXPECT_FALSE(stock.at("rings").empty());
  EXPECT_EQ(stock.at("rings")[0].size(), 2u);
  EXPECT_TRUE(stock.at("busbw_gbps").is_number());
  EXPECT_TRUE(stock.at("choice").at("allreduce").at("algo").is_string());
  EXPECT_TRUE(stock.at("choice").at("allreduce").at("proto").is_string());
}

TEST(TopoText, NamesEveryGpuAndItsBridge) {
  const std::string text = box_text(describe_box(pair(), {}));
  for (const char* part : {"GPU 0", "GPU 1", "NVLink", "bridged-pairs", "rings", "CPU 0"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(TopoSvg, IsSelfContainedAndDrawsEveryGpu) {
  const std::string svg = box_svg(describe_box(pair(), {}));
  EXPECT_NE(svg.find("GPU 0"), std::string::npos);
  EXPECT_NE(svg.find("GPU 1"), std::string::npos);
  EXPECT_NE(svg.find("NVLink"), std::string::npos);
  EXPECT_EQ(svg.find("href"), std::string::npos);
}

TEST(BusBandwidth, FollowsNcclTests) {
  // 1 GB in 1 s over 4 ranks.
  EXPECT_DOUBLE_EQ(bus_bandwidth(config::Collective::kAllReduce, 1000000000, 1e6, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_bandwidth(config::Collective::kAllGather, 1000000000, 1e6, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_bandwidth(config::Collective::kBroadcast, 1000000000, 1e6, 4), 1.0);
}

/// A finished comparison of made-up traces: stock, one arm that failed, braid.
class MadeComparison : public ::testing::Test {
 protected:
  void SetUp() override {
    request_.stock_job.topology = pair();
    request_.stock_job.topology_path = "/boxes/pair.xml";
    request_.stock_job.program = "/bin/job";
    request_.stock_job.request.command = {"./job", "--name=<script>alert(1)</script>"};
    request_.braid_job = request_.stock_job;
    const auto choice = choose_gpu(pair(), "A6000");
    ASSERT_TRUE(choice);
    request_.gpu = choice->gpu;
    request_.gpu_why = choice->why;
    auto arms = make_arms("tree", {}, true);
    ASSERT_TRUE(arms);
    request_.arms = *arms;
    for (const Arm& arm : request_.arms) {
      ArmResult result;
      result.arm = arm;
      if (arm.name == "tree") {
        result.error = "arm tree: the job ended with exit status 3";
      } else {
        fill(&result, arm.name == "braid" ? 1024 : 4096);
      }
      comparison_.arms.push_back(std::move(result));
    }
    comparison_.max_abs_diff = 0.25;
    comparison_.notes = {"a note with <markup>"};
  }

  void fill(ArmResult* result, uint64_t k) {
    for (int rank = 0; rank < 2; ++rank) {
      trace::TraceBuilder builder(rank, 2);
      builder.device(0, rank == 0 ? "0000:10:00.0" : "0000:11:00.0");
      const uint32_t stream = builder.stream();
      const uint32_t communicator = builder.communicator(7, rank, 2);
      for (int step = 0; step < 5; ++step) {
        builder.gemm(stream, 4096, 4096, k);
        builder.collective(stream, communicator, trace::CollectiveFunction::kAllReduce, 8 << 20);
      }
      result->trace.ranks.push_back(builder.end().build());
    }
    result->summary = summarize_trace(result->trace);
    auto forecast = forecast_arm(result->trace, *request_.stock_job.topology, *request_.gpu, {});
    ASSERT_TRUE(forecast) << forecast.error().text();
    result->forecast = std::move(*forecast);
    result->step = step_interval(*result->forecast);
    const Forecast& stock =
        comparison_.arms.empty() ? *result->forecast : *comparison_.stock().forecast;
    result->speedup = speedup_interval(stock, *result->forecast);
  }

  ComparisonRequest request_;
  Comparison comparison_;
};

TEST_F(MadeComparison, JsonHasTheContractsKeys) {
  const Json json = comparison_json(request_, comparison_);
  for (const char* key : {"arms", "stock", "braid", "speedup", "speedup_vs_best_arm", "predicted",
                          "max_abs_diff", "rewrites", "refusals"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(keys_of(json.at("arms")), (std::vector<std::string>{"stock", "tree", "braid"}));
  EXPECT_TRUE(json.at("arms").at("tree").at("step_us").is_null());
  EXPECT_TRUE(json.at("arms").at("tree").at("error").is_string());
  const double stock = json.at("stock").at("step_us"), braid = json.at("braid").at("step_us");
  EXPECT_DOUBLE_EQ(json.at("speedup"), stock / braid);
  EXPECT_DOUBLE_EQ(json.at("speedup_vs_best_arm"), stock / braid);
  EXPECT_EQ(json.at("predicted"), true);
  EXPECT_EQ(json.at("max_abs_diff"), 0.25);
  EXPECT_TRUE(json.at("rewrites").is_array());
  EXPECT_TRUE(json.at("refusals").is_object());
  comparison_.max_abs_diff.reset();
  EXPECT_TRUE(comparison_json(request_, comparison_).at("max_abs_diff").is_null());
}

TEST_F(MadeComparison, TextSaysPredictedAndShowsTheFailedArm) {
  const std::string text = comparison_text(request_, comparison_);
  EXPECT_NE(text.find("predicted for /boxes/pair.xml, GPU model A6000"), std::string::npos) << text;
  EXPECT_NE(text.find("exit status 3"), std::string::npos);
}

TEST_F(MadeComparison, AnIntervalAroundOneSaysNoGainShown) {
  comparison_.arms.back().speedup = {1.05, 0.98, 1.2};
  EXPECT_NE(comparison_text(request_, comparison_).find("no gain shown"), std::string::npos);
  EXPECT_EQ(comparison_json(request_, comparison_).at("gain"), "no gain shown");
  EXPECT_NE(report_page(request_, comparison_).find("No gain shown"), std::string::npos);
}

TEST_F(MadeComparison, ReportIsOneFileAndEscapesWhatItShows) {
  const std::string page = report_page(request_, comparison_);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<markup>"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_EQ(page.find("url(http"), std::string::npos);
  EXPECT_NE(page.find("id=\"timeline-data\""), std::string::npos);
  const size_t begin = page.find('>', page.find("id=\"timeline-data\"")) + 1;
  const Json data = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data.at("arms").size(), 2u);
}

}  // namespace
}  // namespace braid::cli
