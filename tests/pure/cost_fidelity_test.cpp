// The collective model against public measurements (vTrain's nccl-tests tables). Skipped without
// them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "model/cost/communication.hpp"

namespace braid::model {
namespace {

namespace fs = std::filesystem;

struct Point {
  uint64_t bytes = 0;
  double us = 0;
};

fs::path data_folder() {
  const char* folder = std::getenv("BRAID_SHARED_DATA");
  return folder != nullptr ? fs::path(folder) : fs::path(BRAID_SOURCE_DIR) / "../shared/data";
}

/// The AllReduce points of a box: the file is flat, one `key = value` a line.
std::vector<Point> points_of(const std::string& box) {
  std::ifstream file(data_folder() / "measurements.toml");
  std::vector<Point> points;
  std::map<std::string, std::string> entry;
  const auto flush = [&] {
    if (entry["box"] == '"' + box + '"' && entry["collective"] == "\"allreduce\"" &&
        entry.contains("bytes") && entry.contains("time_us")) {
      points.push_back({std::stoull(entry["bytes"]), std::stod(entry["time_us"])});
    }
    entry.clear();
  };
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find(" = ");
    if (line.starts_with("[[")) {
      flush();
    } else if (equals != std::string::npos) {
      entry[line.substr(0, equals)] = line.substr(equals + 3);
    }
  }
  flush();
  return points;
}

struct FidelityCase {
  const char* box;
  const char* topology;
  double mean_error;  // over sizes from 16 MiB on, where latency matters little
};

class Fidelity : public testing::TestWithParam<FidelityCase> {};

TEST_P(Fidelity, LargeAllReduceIsNearTheMeasured) {
  const std::string path = data_folder() / "topologies" / GetParam().topology;
  if (!fs::exists(path)) {
    GTEST_SKIP() << "no public measurements here";
  }
  const Topology topology = read_topology_file(path).value();
  const CommunicationModel model(topology);
  const std::vector<int> gpus = topology.by_dev();
  const StockPlan plan = plan_stock(topology, gpus, {}).value();
  double sum = 0;
  int counted = 0;
  for (const Point& point : points_of(GetParam().box)) {
    if (point.bytes < 16u << 20) {
      continue;
    }
    const CollectiveCall call{trace::CollectiveFunction::kAllReduce, point.bytes / 4,
                              trace::ElementType::kFp32, 0};
    sum += std::abs(model.alone_us(model.price(plan, gpus, call)) / point.us - 1);
    ++counted;
  }
  ASSERT_GT(counted, 500);
  RecordProperty("mean_error", std::to_string(sum / counted));
  EXPECT_LT(sum / counted, GetParam().mean_error);
}

INSTANTIATE_TEST_SUITE_P(
    VTrain, Fidelity,
    testing::Values(FidelityCase{"vtrain-v100-2gpu", "synth_2x_v100_cubemesh_first2of8.xml", 0.05},
                    FidelityCase{"vtrain-v100-4gpu", "synth_4x_v100_cubemesh_first4of8.xml", 0.10},
                    FidelityCase{"vtrain-v100-8gpu", "synth_8x_v100_cubemesh_first8of8.xml", 0.05},
                    FidelityCase{"vtrain-a100-2gpu", "synth_2x_a100_nvswitch.xml", 0.25},
                    FidelityCase{"vtrain-a100-8gpu", "synth_8x_a100_nvswitch.xml", 0.08}),
    [](const auto& info) {
      std::string name = info.param.box;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace braid::model
