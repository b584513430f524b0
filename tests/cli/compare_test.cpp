// braid compare, replay, topo and doctor on made-up jobs: outputs and every refusal.
#include <nlohmann/json.hpp>

#include "braid_prefix.hpp"

namespace braid::cli {
namespace {

using CompareCommand = BraidCommand;
using nlohmann::json;

TEST_F(CompareCommand, ComparesArmsAndWritesEverything) {
  const RunResult result = braid_.run(
      "compare --virtual pair --nproc 2 --arms tree --arm ring:NCCL_ALGO=Ring --result "
      "result.bin:f32 "
      "--keep kept --report report.html --json out.json -- " BRAID_TRACED_JOB
      " --result result.bin");
  ASSERT_TRUE(ended_with(result, 0, "predicted for "));
  const json document = json::parse(read_file(braid_.path("out.json")));
  EXPECT_EQ(document.at("predicted"), true);
  EXPECT_EQ(document.at("arms").size(), 4u);
  EXPECT_GT(document.at("stock").at("step_us").get<double>(), 0);
  EXPECT_DOUBLE_EQ(document.at("speedup").get<double>(),
                   document.at("stock").at("step_us").get<double>() /
                       document.at("braid").at("step_us").get<double>());
  EXPECT_EQ(document.at("max_abs_diff"), 0.5);
  EXPECT_EQ(document.at("arms").at("ring").at("environment").at("NCCL_ALGO"), "Ring");
  EXPECT_NE(document.at("arms").at("stock").at("algorithms").size(), 0u);
  EXPECT_NE(read_file(braid_.path("report.html")).find("timeline-data"), std::string::npos);
  for (const char* file :
       {"kept/stock/trace/rank-0.braidtrace", "kept/braid/log.txt", "kept/braid/result-0"}) {
    EXPECT_TRUE(std::filesystem::exists(braid_.path(file))) << file;
  }
}

TEST_F(CompareCommand, AFailingArmIsShownAndTheRestGoesOn) {
  const RunResult result = braid_.run(
      "compare --virtual pair --nproc 2 --grace 0.2 --arms none --arm "
      "bad:NCCL_ALGO=Broken --json -- " BRAID_TRACED_JOB " --fail-under NCCL_ALGO=Broken");
  ASSERT_EQ(result.status, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_TRUE(document.at("arms").at("bad").at("step_us").is_null());
  EXPECT_NE(document.at("arms").at("bad").at("error").get<std::string>().find("exit status 3"),
            std::string::npos);
  EXPECT_TRUE(document.at("max_abs_diff").is_null());
}

TEST_F(CompareCommand, AFailingStockArmIsAFailureWithItsLog) {
  const RunResult result =
      braid_.run("compare --virtual pair --nproc 2 --grace 0.2 --keep kept -- " BRAID_TRACED_JOB
                 " --fail-under BRAID_MODE=observe");
  EXPECT_TRUE(ended_with(result, 1, "failing as asked"));
}

TEST_F(CompareCommand, BadInputIsTwo) {
  EXPECT_TRUE(ended_with(braid_.run("compare --virtual pair"), 2, "after --"));
  EXPECT_TRUE(
      ended_with(braid_.run("compare --virtual pair --arms treee -- /bin/true"), 2, "tree"));
  EXPECT_TRUE(ended_with(braid_.run("compare --virtual pair --arm x -- /bin/true"), 2, "--arm x"));
  EXPECT_TRUE(ended_with(braid_.run("compare --virtual pair --arms nccl=/bin/sh -- /bin/true"), 2,
                         "real GPUs"));
  EXPECT_TRUE(
      ended_with(braid_.run("compare --virtual pair --gpu B9000 -- /bin/true"), 2, "A6000"));
  EXPECT_TRUE(ended_with(braid_.run("compare --gpu A6000 -- /bin/true"), 2, "--virtual"));
  EXPECT_TRUE(
      ended_with(braid_.run("compare --virtual pair --result x:int3 -- /bin/true"), 2, "int3"));
  EXPECT_TRUE(ended_with(braid_.run("compare --virtual pair --step-every allreduce,0 -- /bin/true"),
                         2, "allreduce,4"));
}

TEST_F(CompareCommand, AJobWithoutNcclCallsIsAClearError) {
  EXPECT_TRUE(ended_with(braid_.run("compare -- /bin/true"), 1, "no NCCL call"));
  EXPECT_TRUE(ended_with(braid_.run("compare --virtual pair -- /bin/true"), 1, "no NCCL call"));
}

TEST_F(CompareCommand, AResultThatIsNotWrittenIsAnError) {
  braid_.folder().write("stale.bin", "abcd");
  EXPECT_TRUE(ended_with(
      braid_.run("compare --virtual pair --nproc 2 --result stale.bin -- " BRAID_TRACED_JOB), 1,
      "stale.bin"));
}

using ReplayCommand = BraidCommand;

TEST_F(ReplayCommand, SimulatesATraceFolder) {
  ASSERT_EQ(braid_.run("observe --trace t --nproc 2 -- " BRAID_TRACED_JOB).status, 0);
  const RunResult result =
      braid_.run("replay t --topology pair --gpu A40 --perfetto p.json --json");
  ASSERT_EQ(result.status, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_GT(document.at("step_us").get<double>(), 0);
  EXPECT_LE(document.at("interval")[0], document.at("step_us"));
  EXPECT_EQ(document.at("gpu"), "A40");
  EXPECT_FALSE(json::parse(read_file(braid_.path("p.json"))).at("traceEvents").empty());
  EXPECT_TRUE(ended_with(braid_.run("replay t --topology pair"), 0, "exposed communication"));
}

TEST_F(ReplayCommand, BadInputIsTwo) {
  EXPECT_TRUE(ended_with(braid_.run("replay nothing --topology pair"), 2, "nothing"));
  EXPECT_TRUE(ended_with(braid_.run("replay nothing"), 2, "--topology"));
  braid_.folder().write("t/rank-0.braidtrace", "not a trace at all, but long enough for a header");
  EXPECT_TRUE(ended_with(braid_.run("replay t --topology pair"), 2, "rank-0.braidtrace"));
  EXPECT_TRUE(ended_with(braid_.run("replay t --topology pair --nccl ALGO=Tree"), 2, "ALGO=Tree"));
}

using TopoCommand = BraidCommand;

TEST_F(TopoCommand, ShowsABoxInAllForms) {
  const RunResult text = braid_.run("topo pair --svg box.svg");
  EXPECT_TRUE(ended_with(text, 0, "NVLink"));
  EXPECT_NE(read_file(braid_.path("box.svg")).find("<svg"), std::string::npos);
  const RunResult result = braid_.run("topo share/braid/topologies/pair.xml --json");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out).at("class"), "bridged-pairs");
}

TEST_F(TopoCommand, JsonNeverOverwritesTheTopology) {
  const std::string before = read_file(braid_.path("share/braid/topologies/pair.xml"));
  EXPECT_TRUE(
      ended_with(braid_.run("topo --json share/braid/topologies/pair.xml"), 2, "--json took"));
  EXPECT_EQ(read_file(braid_.path("share/braid/topologies/pair.xml")), before);
}

TEST_F(TopoCommand, BadInputIsTwo) {
  EXPECT_TRUE(ended_with(braid_.run("topo"), 2, "--live"));
  EXPECT_TRUE(ended_with(braid_.run("topo pair --live"), 2, "--live"));
  EXPECT_TRUE(ended_with(braid_.run("topo nowhere.xml"), 2, "nowhere.xml"));
  braid_.folder().write("bad.xml", "<system version=\"1\">\n<cpu>\n");
  EXPECT_TRUE(ended_with(braid_.run("topo bad.xml"), 2, "bad.xml"));
}

using DoctorCommand = BraidCommand;

TEST_F(DoctorCommand, NeverFailsWithoutAGpu) {
  const RunResult text = braid_.run("doctor", "BRAID_MODUS=x NCCL_ALGO=Tree");
  ASSERT_TRUE(ended_with(text, 0, "Verdict"));
  EXPECT_NE(text.out.find("BRAID_MODUS"), std::string::npos);
  EXPECT_NE(text.out.find("NCCL_ALGO"), std::string::npos);
  EXPECT_NE(text.out.find("BRAID_VGPU_SEED"), std::string::npos);
  const RunResult result = braid_.run("doctor --json");
  ASSERT_EQ(result.status, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_FALSE(document.at("verdicts").empty());
  EXPECT_TRUE(document.at("libraries").is_array());
  EXPECT_TRUE(ended_with(braid_.run("doctor --virtual nowhere"), 2, "nowhere"));
}

}  // namespace
}  // namespace braid::cli
