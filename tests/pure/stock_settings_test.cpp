#include <gtest/gtest.h>

#include "model/stock/selection.hpp"
#include "model/stock/settings.hpp"
#include "model/stock_nccl.hpp"

namespace braid::model::test {
namespace {

using config::Collective;
using stock::parse_selection;
using stock::Selected;

const std::vector<std::string> kElements = {"Tree", "Ring", "NVLS"};

std::string row_of(const std::string& text, Collective collective) {
  const auto selection = parse_selection("NCCL_ALGO", text, kElements);
  EXPECT_TRUE(selection) << selection.error().text();
  std::string row;
  for (const auto selected : (*selection)[static_cast<size_t>(collective)]) {
    row += selected == Selected::kOn ? '1' : selected == Selected::kOff ? '0' : '-';
  }
  return row;
}

TEST(Selection, ListsExclusionsAndCollectives) {
  EXPECT_EQ(row_of("", Collective::kAllReduce), "---");
  EXPECT_EQ(row_of("ring", Collective::kAllReduce), "010");
  EXPECT_EQ(row_of("RING,tree", Collective::kBroadcast), "110");
  EXPECT_EQ(row_of("^tree", Collective::kAllReduce), "011");
  EXPECT_EQ(row_of("ring;AllReduce:tree", Collective::kAllReduce), "100");
  EXPECT_EQ(row_of("ring;AllReduce:tree", Collective::kAllGather), "010");
  EXPECT_EQ(row_of("allgather:^ring,nvls", Collective::kAllGather), "100");
  EXPECT_EQ(row_of("allgather:^ring,nvls", Collective::kReduce), "---");
}

TEST(Selection, WrongValuesNameVariableAndWord) {
  for (const char* text : {"rign", "ring;tree", "alreduce:ring", "allreduce:", "ring,,x", ":"}) {
    const auto selection = parse_selection("NCCL_ALGO", text, kElements);
    ASSERT_FALSE(selection) << text;
    EXPECT_EQ(selection.error().where, std::string("NCCL_ALGO=") + text);
  }
}

TEST(NcclSettings, AreReadFromPairs) {
  const auto settings = read_nccl_settings({{"NCCL_ALGO", "Tree"},
                                            {"NCCL_PROTO", "^LL128"},
                                            {"NCCL_GRAPH_FILE", "/tmp/g.xml"},
                                            {"NCCL_P2P_LEVEL", "SYS"},
                                            {"NCCL_MIN_NCHANNELS", "4"},
                                            {"NCCL_MAX_NRINGS", "16"},
                                            {"NCCL_MAX_CTAS", "8"},
                                            {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  ASSERT_TRUE(settings) << settings.error().text();
  EXPECT_EQ(settings->algo, "Tree");
  EXPECT_EQ(settings->proto, "^LL128");
  EXPECT_EQ(settings->graph_file, "/tmp/g.xml");
  EXPECT_EQ(settings->p2p_level, "SYS");
  EXPECT_EQ(settings->min_channels, 4);
  EXPECT_EQ(settings->max_channels, 8);

  const auto renamed =
      read_nccl_settings({{"NCCL_MAX_NRINGS", "16"}, {"NCCL_MAX_NCHANNELS", "20"}});
  EXPECT_EQ(renamed->max_channels, 20);
  EXPECT_EQ(read_nccl_settings({{"NCCL_P2P_DISABLE", "1"}})->p2p_level, "LOC");
  EXPECT_EQ(read_nccl_settings({})->min_channels, 0);
}

TEST(NcclSettings, WrongValuesAreErrors) {
  const std::pair<const char*, const char*> wrong[] = {
      {"NCCL_ALGO", "Treee"},         {"NCCL_PROTO", "LL256"},     {"NCCL_P2P_LEVEL", "FAR"},
      {"NCCL_P2P_LEVEL", "NET"},      {"NCCL_P2P_DISABLE", "yes"}, {"NCCL_MAX_NCHANNELS", "0"},
      {"NCCL_MIN_NCHANNELS", "four"}, {"NCCL_MAX_CTAS", "-3"}};
  for (const auto& [name, value] : wrong) {
    const auto settings = read_nccl_settings({{name, value}});
    ASSERT_FALSE(settings) << name;
    EXPECT_EQ(settings.error().where, std::string(name) + "=" + value);
  }
}

TEST(P2pLevel, NamesAndOldNumbers) {
  EXPECT_EQ(stock::parse_p2p_level("", PathType::kPxb).value(), PathType::kPxb);
  EXPECT_EQ(stock::parse_p2p_level("PHB", PathType::kPxb).value(), PathType::kPhb);
  EXPECT_EQ(stock::parse_p2p_level("0", PathType::kPxb).value(), PathType::kLoc);
  EXPECT_EQ(stock::parse_p2p_level("3", PathType::kPxb).value(), PathType::kPhb);
  EXPECT_EQ(stock::parse_p2p_level("9", PathType::kPxb).value(), PathType::kSys);
}

}  // namespace
}  // namespace braid::model::test
