#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "model/trace.hpp"
#include "model/trace_builder.hpp"

namespace braid::model::trace {
namespace {

std::string good_bytes() {
  TraceBuilder builder(0, 2);
  builder.setting("NCCL_PROTO", "Simple").device(0, "0000:10:00.0");
  const uint32_t stream = builder.stream();
  const uint32_t tp = builder.communicator(5, 0, 2);
  for (int i = 0; i < 4; ++i) {
    builder.group(true).gemm(stream, 64, 64, 64);
    builder.collective(stream, tp, CollectiveFunction::kAllReduce, 4096).group(false);
    builder.kernel(stream, "kernel_" + std::to_string(i), 8, 128, 100);
    builder.copy(stream, 1000, CopyKind::kMemset).record_event(stream, 1, i + 1);
    builder.host_wait(HostWaitKind::kEvent, kNoStream, 1, i + 1).write_value(stream, 64, 1);
  }
  return builder.marker("step", 2).end().bytes();
}

/// Every outcome is allowed but a crash, an error without place, or memory out of proportion.
void expect_sound(const std::string& bytes) {
  const Result<RankTrace> trace = parse_rank_trace(bytes, "rank0.braidtrace");
  if (!trace) {
    EXPECT_EQ(trace.error().where.find("rank0.braidtrace: byte "), 0u) << trace.error().text();
    EXPECT_FALSE(trace.error().what.empty());
    return;
  }
  EXPECT_LE(trace->records.size(), bytes.size() / sizeof(RecordHeader));
  EXPECT_LE(trace->names.size(), bytes.size() + 8192);
  EXPECT_TRUE(trace->complete || !trace->warnings.empty());
}

TEST(TraceCorrupt, CutAtEveryByte) {
  const std::string good = good_bytes();
  const RankTrace whole = parse_rank_trace(good, "t").value();
  for (size_t length = 0; length < good.size(); ++length) {
    SCOPED_TRACE(length);
    const std::string cut = good.substr(0, length);
    const Result<RankTrace> trace = parse_rank_trace(cut, "rank0.braidtrace");
    expect_sound(cut);
    if (length < sizeof(FileHeader)) {
      EXPECT_FALSE(trace.has_value());
      continue;
    }
    ASSERT_TRUE(trace.has_value()) << trace.error().text();  // a prefix, never an error
    EXPECT_FALSE(trace->complete);
    ASSERT_LE(trace->records.size(), whole.records.size());
    for (size_t i = 0; i < trace->records.size(); ++i) {
      EXPECT_EQ(trace->records[i].header.time_ns, whole.records[i].header.time_ns);
    }
  }
}

TEST(TraceCorrupt, RandomFlips) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string good = good_bytes();
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    const int flips = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < flips; ++i) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1u << random() % 8);
    }
    if (random() % 4 == 0) {
      bytes.resize(random() % bytes.size());
    }
    expect_sound(bytes);
    if (HasFailure()) {
      return;
    }
  }
}

TEST(TraceCorrupt, RandomBytesBehindAGoodHeader) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string header = good_bytes().substr(0, sizeof(FileHeader));
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = header;
    for (size_t i = random() % 512; i > 0; --i) {
      bytes.push_back(static_cast<char>(random()));
    }
    expect_sound(bytes);
  }
}

TEST(TraceCorrupt, AFarStringIdDoesNotReserveMemory) {
  TraceBuilder builder(0, 1);
  std::string bytes = builder.bytes();
  RecordHeader header{};
  header.type = static_cast<uint16_t>(RecordType::kString);
  header.size = sizeof header + sizeof(String);
  const String string{0xfffffff0u, 0};
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(&string), sizeof string);
  const Result<RankTrace> trace = parse_rank_trace(bytes, "t");
  ASSERT_FALSE(trace.has_value());
  EXPECT_NE(trace.error().text().find("byte 48"), std::string::npos) << trace.error().text();
}

TEST(TraceCorrupt, RoomThatAKilledJobLeftUnwrittenIsACut) {
  TraceBuilder builder(0, 1);
  builder.gemm(0, 1, 2, 3);
  const Result<RankTrace> trace =
      parse_rank_trace(builder.bytes() + std::string(1 << 20, '\0'), "t");
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  EXPECT_EQ(trace->records.size(), 1u);
  EXPECT_FALSE(trace->complete);
  ASSERT_EQ(trace->warnings.size(), 1u);
  const std::string torn = builder.bytes() + std::string(64, '\0') + "x";
  EXPECT_FALSE(parse_rank_trace(torn, "t").has_value());
}

TEST(TraceCorrupt, WrongMagicAndVersion) {
  std::string bytes = good_bytes();
  bytes[0] = 'X';
  EXPECT_NE(parse_rank_trace(bytes, "t").error().text().find("BRAIDTRC"), std::string::npos);
  bytes = good_bytes();
  bytes[8] = 9;
  EXPECT_NE(parse_rank_trace(bytes, "t").error().text().find("version 9"), std::string::npos);
}

}  // namespace
}  // namespace braid::model::trace
