#include "model/gpu_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/gpu.hpp"

namespace braid::model {
namespace {

TEST(GpuTable, CompiledInTableReads) {
  const Result<std::vector<GpuModel>> models = read_gpu_table(kGpuTable, "config/gpus.toml");
  ASSERT_TRUE(models.has_value()) << models.error().text();
  EXPECT_EQ(models->size(), gpu_models().size());
  std::set<std::string> names;
  for (const GpuModel& gpu : *models) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_GT(gpu.source.size(), 10u) << gpu.name;
    EXPECT_GE(gpu.fp16_tflops, gpu.fp32_tflops) << gpu.name;
  }
}

TEST(GpuTable, HasTheModelsOfTheSupportMatrix) {
  for (const char* name :
       {"RTX3090", "A6000", "A40", "A100-PCIe", "A100-PCIe-80GB", "H100-NVL", "H100-PCIe", "L20",
        "L40S", "RTX4090", "A100-SXM", "H200", "V100", "A10G"}) {
    EXPECT_TRUE(find_gpu_model(name).has_value()) << name;
  }
}

TEST(GpuTable, FindsByDeviceName) {
  EXPECT_EQ(find_gpu_model("NVIDIA RTX A6000")->name, "A6000");
  EXPECT_EQ(find_gpu_model("nvidia rtx a6000")->name, "A6000");
  EXPECT_EQ(find_gpu_model("NVIDIA A100-SXM4-80GB")->name, "A100-SXM");
  EXPECT_EQ(find_gpu_model("NVIDIA H100 NVL")->sm_count, 132);
}

TEST(GpuTable, UnknownNameListsTheKnown) {
  const Result<GpuModel> gpu = find_gpu_model("B9000");
  ASSERT_FALSE(gpu.has_value());
  EXPECT_NE(gpu.error().text().find("B9000"), std::string::npos);
  EXPECT_NE(gpu.error().text().find("A6000"), std::string::npos);
}

TEST(GpuTable, FallbackByComputeCapability) {
  const auto found = gpu_models_with_capability(86);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(std::all_of(found.begin(), found.end(),
                          [](const GpuModel* gpu) { return gpu->compute_capability == 86; }));
  EXPECT_TRUE(gpu_models_with_capability(35).empty());
}

TEST(GpuTable, MissingUnitRunsAtFp32Rate) {
  const GpuModel v100 = find_gpu_model("V100").value();
  EXPECT_DOUBLE_EQ(v100.peak_tflops(trace::ElementType::kBf16), v100.fp32_tflops);
  EXPECT_DOUBLE_EQ(v100.peak_tflops(trace::ElementType::kFp16), 125);
}

struct BadTable {
  const char* name;
  const char* text;
  const char* says;
};

class GpuTableError : public testing::TestWithParam<BadTable> {};

TEST_P(GpuTableError, NamesFileLineAndKey) {
  const auto models = read_gpu_table(GetParam().text, "table.toml");
  ASSERT_FALSE(models.has_value());
  EXPECT_EQ(models.error().text().find("table.toml"), 0u) << models.error().text();
  EXPECT_NE(models.error().text().find(GetParam().says), std::string::npos)
      << models.error().text();
}

INSTANTIATE_TEST_SUITE_P(Bad, GpuTableError,
                         testing::Values(BadTable{"Empty", "", "[[gpu]]"},
                                         BadTable{"Syntax", "[[gpu]\n", "1"},
                                         BadTable{"NoName", "[[gpu]]\naliases = []\n", "name"},
                                         BadTable{"WrongType",
                                                  "[[gpu]]\nname = \"x\"\naliases = []\n"
                                                  "compute_capability = \"86\"\n",
                                                  "compute_capability"},
                                         BadTable{"NotATable", "gpu = [1]\n", "table"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace braid::model
