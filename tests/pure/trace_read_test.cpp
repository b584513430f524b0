#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/trace.hpp"
#include "model/trace_builder.hpp"

namespace braid::model::trace {
namespace {

namespace fs = std::filesystem;

class TraceFolder : public testing::Test {
 protected:
  TraceFolder() {
    path_ = fs::path(testing::TempDir()) /
            ("trace_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~TraceFolder() override { fs::remove_all(path_); }

  std::string file(const std::string& name) const { return (path_ / name).string(); }

  fs::path path_;
};

TEST(TraceRead, RoundTrip) {
  TraceBuilder builder(1, 2);
  builder.setting("NCCL_ALGO", "Ring").device(0, "0000:10:00.0");
  const uint32_t stream = builder.stream(-1);
  const uint32_t tp = builder.communicator(77, 1, 2);
  builder.gemm(stream, 4, 5, 6).collective(stream, tp, CollectiveFunction::kAllReduce, 20);
  builder.kernel(stream, "relu", 10, 256, 0).record_event(stream, 3).marker("step", 0).end();

  const RankTrace trace = builder.build();
  EXPECT_TRUE(trace.complete);
  EXPECT_TRUE(trace.warnings.empty());
  EXPECT_EQ(trace.header.rank, 1);
  EXPECT_EQ(trace.settings().at("NCCL_ALGO"), "Ring");
  ASSERT_EQ(trace.records.size(), 9u);
  EXPECT_EQ(trace.records[4].type(), RecordType::kGemm);
  EXPECT_EQ(std::get<Gemm>(trace.records[4].payload).k, 6u);
  EXPECT_EQ(std::get<Communicator>(trace.records[3].payload).hash, 77u);
  EXPECT_EQ(trace.name(std::get<Kernel>(trace.records[6].payload).name), "relu");
  EXPECT_EQ(trace.name(9999), "");
}

TEST(TraceRead, UnknownTypesAndLongerRecordsAreSkippedOver) {
  TraceBuilder builder(0, 1);
  builder.gemm(0, 1, 2, 3);
  std::string bytes = builder.bytes();
  RecordHeader later{};
  later.type = 999;
  later.size = sizeof later + 16;
  bytes.append(reinterpret_cast<const char*>(&later), sizeof later).append(16, 'x');
  RecordHeader longer{};  // a Group with a field of a later version behind it
  longer.type = static_cast<uint16_t>(RecordType::kGroup);
  longer.size = sizeof longer + sizeof(Group) + 8;
  const Group group{1, 1};
  bytes.append(reinterpret_cast<const char*>(&longer), sizeof longer);
  bytes.append(reinterpret_cast<const char*>(&group), sizeof group).append(8, 'y');

  const Result<RankTrace> trace = parse_rank_trace(bytes, "t");
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  ASSERT_EQ(trace->records.size(), 2u);
  EXPECT_EQ(trace->records[1].type(), RecordType::kGroup);
}

TEST_F(TraceFolder, FolderIsSortedByRank) {
  for (const int rank : {10, 2, 0}) {
    ASSERT_TRUE(TraceBuilder(rank, 11).end().write(file(std::to_string(rank) + ".braidtrace")));
  }
  std::ofstream(file("notes.txt")) << "not a trace";
  const Result<Trace> trace = read_trace(path_.string());
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  ASSERT_EQ(trace->ranks.size(), 3u);
  EXPECT_EQ(trace->ranks[0].header.rank, 0);
  EXPECT_EQ(trace->ranks[1].header.rank, 2);
  EXPECT_EQ(trace->ranks[2].header.rank, 10);
  ASSERT_EQ(trace->warnings.size(), 1u);
  EXPECT_NE(trace->warnings[0].find("3 of 11"), std::string::npos);
}

TEST_F(TraceFolder, TwoFilesOfOneRankAreRefused) {
  ASSERT_TRUE(TraceBuilder(0, 2).end().write(file("a.braidtrace")));
  ASSERT_TRUE(TraceBuilder(0, 2).end().write(file("b.braidtrace")));
  const Result<Trace> trace = read_trace(path_.string());
  ASSERT_FALSE(trace.has_value());
  EXPECT_NE(trace.error().text().find("b.braidtrace"), std::string::npos);
}

TEST_F(TraceFolder, EmptyFolderAndMissingFile) {
  EXPECT_NE(read_trace(path_.string()).error().text().find("BRAID_TRACE_DIR"), std::string::npos);
  EXPECT_NE(read_trace(file("absent.braidtrace")).error().text().find("absent.braidtrace"),
            std::string::npos);
}

TEST_F(TraceFolder, CutFileIsReadWithAWarning) {
  TraceBuilder builder(0, 1);
  builder.gemm(0, 1, 2, 3).gemm(0, 4, 5, 6);
  ASSERT_TRUE(builder.write(file("cut.braidtrace")));
  const Result<Trace> trace = read_trace(file("cut.braidtrace"));
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->ranks[0].records.size(), 2u);
  EXPECT_FALSE(trace->ranks[0].complete);
  ASSERT_EQ(trace->warnings.size(), 1u);
  EXPECT_NE(trace->warnings[0].find("cut after byte"), std::string::npos);
}

}  // namespace
}  // namespace braid::model::trace
