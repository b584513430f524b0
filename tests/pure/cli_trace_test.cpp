// What commands read out of traces: tables, steps, timelines, forecasts.
#include <gtest/gtest.h>

#include "cli/compare/forecast.hpp"
#include "cli/compare/measurement.hpp"
#include "cli/gpu_choice.hpp"
#include "cli/report/perfetto.hpp"
#include "cli/report/timeline.hpp"
#include "cli/traces/step_finder.hpp"
#include "cli/traces/step_watch.hpp"
#include "cli/traces/trace_json.hpp"
#include "cli/traces/trace_summary.hpp"
#include "cli_test_support.hpp"
#include "model/trace_builder.hpp"

namespace braid::cli {
namespace {

namespace trace = model::trace;
using trace::CollectiveFunction;

/// `steps` steps of two GEMMs, an AllReduce and an AllGather on one rank of two.
trace::TraceBuilder job_of_rank(int rank, int steps) {
  trace::TraceBuilder builder(rank, 2);
  builder.device(0, rank == 0 ? "0000:10:00.0" : "0000:11:00.0");
  const uint32_t stream = builder.stream();
  const uint32_t communicator = builder.communicator(77, rank, 2);
  for (int step = 0; step < steps; ++step) {
    builder.gemm(stream, 4096, 4096, 1024);
    builder.collective(stream, communicator, CollectiveFunction::kAllReduce, 16 << 20);
    builder.gemm(stream, 4096, 1024, 4096);
    builder.collective(stream, communicator, CollectiveFunction::kAllGather, 1 << 20);
  }
  builder.end();
  return builder;
}

trace::Trace job(int steps) {
  trace::Trace all;
  all.ranks = {job_of_rank(0, steps).build(), job_of_rank(1, steps).build()};
  return all;
}

TEST(TraceSummary, CountsACollectiveOnceForAllRanks) {
  const TraceSummary summary = summarize_trace(job(5));
  ASSERT_EQ(summary.collectives.size(), 2u);
  EXPECT_EQ(summary.collectives[0].function, "AllReduce");
  EXPECT_EQ(summary.collectives[0].bytes, 32ull << 20);
  EXPECT_EQ(summary.collectives[0].type, "bf16");
  EXPECT_EQ(summary.collectives[0].ranks, 2);
  EXPECT_EQ(summary.collectives[0].calls, 5u);
  EXPECT_EQ(summary.collectives[1].bytes, 4ull << 20);  // both ranks' parts
  EXPECT_EQ(summary.gemms, 20u);
  EXPECT_EQ(summary.files, 2);
}

TEST(TraceSummary, WorkIssuedByBraidIsNotTheProgramsOwn) {
  trace::TraceBuilder builder(0, 2);
  builder.device(0, "0000:10:00.0");
  const uint32_t stream = builder.stream();
  const uint32_t communicator = builder.communicator(77, 0, 2);
  builder.with_flags(trace::kUserCall);
  builder.collective(stream, communicator, CollectiveFunction::kAllReduce, 1024);
  builder.with_flags(trace::kIssuedByBraid);
  builder.collective(stream, communicator, CollectiveFunction::kAllReduce, 512);
  builder.collective(stream, communicator, CollectiveFunction::kAllReduce, 512);
  trace::Trace all;
  all.ranks = {builder.build()};
  const TraceSummary summary = summarize_trace(all);
  ASSERT_EQ(summary.collectives.size(), 1u);
  EXPECT_EQ(summary.collectives[0].bytes, 2048u);
  EXPECT_EQ(summary.collectives[0].calls, 1u);
}

TEST(TraceSummary, RewritesAndRefusalsAreSummedOverRanks) {
  trace::Trace all = job(2);
  for (trace::RankTrace& file : all.ranks) {
    const uint32_t communicator = 1;
    for (uint64_t sequence : {0u, 2u}) {
      trace::Record record;
      record.header.type = static_cast<uint16_t>(trace::RecordType::kRewrite);
      record.payload = trace::Rewrite{0, communicator, sequence, 4, sequence == 0 ? 1u : 0u};
      file.records.push_back(record);
    }
    trace::Record refusal;
    refusal.header.type = static_cast<uint16_t>(trace::RecordType::kRefusal);
    file.names.push_back("numerics");
    refusal.payload = trace::Refusal{static_cast<uint32_t>(file.names.size() - 1), 0, 3};
    file.records.push_back(refusal);
  }
  const TraceSummary summary = summarize_trace(all);
  uint64_t calls = 0, overlapped = 0;
  for (const RewriteRow& row : summary.rewrites) {
    EXPECT_EQ(row.kind, "producer");
    EXPECT_EQ(row.parts, 4u);
    calls += row.calls;
    overlapped += row.overlapped;
  }
  EXPECT_EQ(calls, 4u);
  EXPECT_EQ(overlapped, 2u);
  EXPECT_EQ(summary.refusals.at("numerics"), 6u);
  const Json json = summary_json(summary);
  EXPECT_EQ(json.at("refusals").at("numerics"), 6);
  EXPECT_EQ(json.at("collectives").size(), 2u);
}

TEST(StepFinder, FindsThePeriodAndItsStarts) {
  const auto steps = find_host_steps(job_of_rank(0, 6).build(), {});
  ASSERT_TRUE(steps) << steps.error().text();
  EXPECT_EQ(steps->period, 2u);
  EXPECT_GE(steps->start_ns.size(), 5u);
  EXPECT_TRUE(std::is_sorted(steps->start_ns.begin(), steps->start_ns.end()));
}

TEST(StepFinder, CountsACollective) {
  const auto steps = find_host_steps(job_of_rank(0, 6).build(), {"", "allreduce", 2});
  ASSERT_TRUE(steps) << steps.error().text();
  EXPECT_EQ(steps->start_ns.size(), 3u);
}

TEST(StepFinder, NoCollectiveAndNoPeriodAreErrorsWithAdvice) {
  trace::TraceBuilder silent(0, 1);
  silent.device(0, "0000:10:00.0");
  const auto none = find_host_steps(silent.build(), {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("no NCCL call"), std::string::npos);

  const auto once = find_host_steps(job_of_rank(0, 1).build(), {});
  ASSERT_FALSE(once);
  EXPECT_NE(once.error().text().find("--step-every"), std::string::npos);
  EXPECT_FALSE(find_host_steps(job_of_rank(0, 6).build(), {"no such range", "", 0}));
}

TEST(StepWatch, ReachedOnlyWithEnoughSteps) {
  TemporaryFolder folder;
  EXPECT_FALSE(StepWatch(folder.path(), 3).reached());
  ASSERT_TRUE(job_of_rank(0, 6).write(folder.path() + "/rank-0.braidtrace"));
  EXPECT_TRUE(StepWatch(folder.path(), 3).reached());
  EXPECT_FALSE(StepWatch(folder.path(), 30).reached());
}

TEST(Measurement, OrderIsThereAndBack) {
  EXPECT_EQ(alternating_order(3, 1), (std::vector<int>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(alternating_order(2, 2), (std::vector<int>{0, 1, 1, 0, 0, 1, 1, 0}));
}

TEST(Measurement, IntervalsHoldTheMedianAndRepeat) {
  MeasuredSteps slow, fast;
  slow.runs_us = {{100, 101, 102, 99}, {103, 100, 98, 101}};
  fast.runs_us = {{50, 51, 52, 49}, {53, 50, 48, 51}};
  const model::Prediction step = measured_interval(slow);
  EXPECT_LE(step.low_us, step.step_us);
  EXPECT_GE(step.high_us, step.step_us);
  const model::SpeedupPrediction speedup = measured_speedup(slow, fast);
  EXPECT_GT(speedup.low, 1.8);
  EXPECT_LT(speedup.high, 2.2);
  EXPECT_EQ(speedup.low, measured_speedup(slow, fast).low);
  const model::SpeedupPrediction same = measured_speedup(slow, slow);
  EXPECT_LE(same.low, 1.0);
  EXPECT_GE(same.high, 1.0);
}

class SimulatedJob : public ::testing::Test {
 protected:
  void SetUp() override {
    auto topology = model::read_topology_text(bridged_pair_xml(), "pair.xml");
    ASSERT_TRUE(topology) << topology.error().text();
    topology_ = std::move(*topology);
    auto choice = choose_gpu(topology_, "");
    ASSERT_TRUE(choice) << choice.error().text();
    EXPECT_EQ(choice->gpu.name, "A6000");
    auto forecast = forecast_arm(trace_, topology_, choice->gpu, {});
    ASSERT_TRUE(forecast) << forecast.error().text();
    forecast_ = std::move(*forecast);
  }

  trace::Trace trace_ = job(6);
  model::Topology topology_;
  Forecast forecast_;
};

TEST_F(SimulatedJob, ForecastHasAnIntervalAndSteps) {
  const model::Prediction step = step_interval(forecast_);
  EXPECT_GT(step.step_us, 0);
  EXPECT_LE(step.low_us, step.step_us);
  EXPECT_GE(step.high_us, step.step_us);
  EXPECT_EQ(forecast_.step_us.size(), model::interval_factors().size());
  EXPECT_EQ(forecast_.central.steps.size(), forecast_.central.step_us.size());
  for (size_t i = 0; i < forecast_.central.steps.size(); ++i) {
    EXPECT_NEAR(forecast_.central.steps[i].end_us - forecast_.central.steps[i].start_us,
                forecast_.central.step_us[i], 1e-3);
  }
}

TEST_F(SimulatedJob, AnArmAgainstItselfIsExactlyOne) {
  const model::SpeedupPrediction speedup = speedup_interval(forecast_, forecast_);
  EXPECT_EQ(speedup.speedup, 1.0);
  EXPECT_EQ(speedup.low, 1.0);
  EXPECT_EQ(speedup.high, 1.0);
}

TEST_F(SimulatedJob, PerfettoHasAnEventForEveryItemAndNames) {
  const Json document = Json::parse(perfetto_json(trace_, forecast_.central));
  size_t events = 0, names = 0;
  for (const Json& event : document.at("traceEvents")) {
    if (event.at("ph") == "X") {
      ++events;
      EXPECT_GE(event.at("dur").get<double>(), 0);
    } else {
      EXPECT_EQ(event.at("ph"), "M");
      names += event.at("name") == "process_name" || event.at("name") == "thread_name";
    }
  }
  EXPECT_EQ(events, forecast_.central.timeline.size());
  EXPECT_GE(names, 4u);
}

TEST_F(SimulatedJob, TimelineHoldsOneStepOfEveryRank) {
  const Json data = timeline_json("stock", trace_, forecast_.central, forecast_.central.steps[2]);
  EXPECT_EQ(data.at("rows").size(), 2u);
  EXPECT_GE(data.at("items").size(), 8u);  // two GEMMs and two collectives on two ranks
  EXPECT_EQ(data.at("left_out"), 0);
  for (const Json& item : data.at("items")) {
    EXPECT_LE(item[1].get<double>(), item[2].get<double>());
    EXPECT_LT(item[4].get<size_t>(), data.at("names").size());
  }
}

TEST(GpuChoice, UnknownNameListsTheKnownOnes) {
  const auto topology = model::read_topology_text(bridged_pair_xml(), "pair.xml");
  ASSERT_TRUE(topology);
  const auto choice = choose_gpu(*topology, "B9000");
  ASSERT_FALSE(choice);
  EXPECT_NE(choice.error().text().find("A6000"), std::string::npos) << choice.error().text();
}

}  // namespace
}  // namespace braid::cli
