// braid run and observe: exit codes, messages, ranks, signals.
#include <nlohmann/json.hpp>

#include "braid_prefix.hpp"

namespace braid::cli {
namespace {

using RunCommand = BraidCommand;

TEST_F(RunCommand, EndsWithTheJobsStatus) {
  EXPECT_TRUE(ended_with(braid_.run("run -- /bin/sh -c 'exit 0'"), 0, ""));
  EXPECT_TRUE(ended_with(braid_.run("run -- /bin/sh -c 'exit 7'"), 7, "exit status 7"));
  EXPECT_TRUE(ended_with(braid_.run("run -- /bin/sh -c 'kill -9 $$'"), 137, "signal 9"));
  EXPECT_TRUE(ended_with(braid_.run("observe -- /bin/sh -c 'exit 5'"), 5, "exit status 5"));
}

TEST_F(RunCommand, BadUsageIsTwo) {
  EXPECT_TRUE(ended_with(braid_.run(""), 2, "subcommand"));
  EXPECT_TRUE(
      ended_with(braid_.run("compara"), 2, "no command 'compara' (did you mean 'compare'?)"));
  EXPECT_TRUE(ended_with(braid_.run("run -- /dev/null"), 2, "/dev/null"));
  EXPECT_TRUE(ended_with(braid_.run("run"), 2, "after --"));
  EXPECT_TRUE(ended_with(braid_.run("run --"), 2, "after --"));
  EXPECT_TRUE(ended_with(braid_.run("run --no-such-option -- true"), 2, "--no-such-option"));
  EXPECT_TRUE(ended_with(braid_.run("run ./train"), 2, "after --"));
  EXPECT_TRUE(ended_with(braid_.run("run --mode fast -- true"), 2, "fast"));
  EXPECT_TRUE(ended_with(braid_.run("run -- no-such-program-here"), 2, "no-such-program-here"));
  EXPECT_TRUE(ended_with(braid_.run("run --nproc 0 -- true"), 2, "--nproc"));
  EXPECT_TRUE(ended_with(braid_.run("run --frozen -- true"), 2, "--policy"));
  EXPECT_TRUE(ended_with(braid_.run("run --mode off --trace t -- true"), 2, "--trace"));
  EXPECT_TRUE(ended_with(braid_.run("topo pair -- true"), 2, "--"));
}

TEST_F(RunCommand, BrokenPolicyStopsTheJobBeforeItStarts) {
  braid_.folder().write("bad.toml", "schema = \"braid-policy/1\"\n[[rule]]\nparst = 4\n");
  const RunResult result = braid_.run("run --policy bad.toml -- /bin/sh -c 'touch started'");
  EXPECT_TRUE(ended_with(result, 2, "bad.toml:3"));
  EXPECT_NE(result.err.find("parts"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(braid_.path("started")));
  EXPECT_TRUE(ended_with(braid_.run("run --policy none.toml -- true"), 2, "none.toml"));
  EXPECT_TRUE(ended_with(braid_.run("run -- true", "BRAID_POLICY=bad.toml"), 2, "bad.toml:3"));
}

TEST_F(RunCommand, BrokenTopologyAndTooFewGpus) {
  braid_.folder().write("bad.xml", "<system version=\"1\"><cpu>");
  EXPECT_TRUE(ended_with(braid_.run("run --virtual bad.xml -- /bin/true"), 2, "bad.xml"));
  EXPECT_TRUE(ended_with(braid_.run("run --virtual pairs -- /bin/true"), 2, "pair"));
  EXPECT_TRUE(ended_with(braid_.run("run --virtual pair --nproc 3 -- /bin/true"), 2, "2 GPUs"));
  EXPECT_TRUE(
      ended_with(braid_.run("run --virtual pair -- /bin/true", "WORLD_SIZE=4"), 2, "WORLD_SIZE"));
}

TEST_F(RunCommand, StaticCudaRuntimeIsSaidClearlyOnVirtualGpus) {
  // A copy of this system's shell that carries the runtime's texts, as a static program would.
  std::string program = read_file("/bin/sh");
  program += std::string("cudaErrorCudartUnloading") + '\0' + "libcuda.so.1" + '\0';
  braid_.folder().write("static_job", program, true);
  EXPECT_TRUE(
      ended_with(braid_.run("run --virtual pair -- ./static_job -c true"), 2, "-cudart shared"));
  EXPECT_TRUE(ended_with(braid_.run("run -- ./static_job -c true"), 0, ""));
}

TEST_F(RunCommand, SetsTheEnvironmentAndCleansTheSessionUp) {
  const RunResult result = braid_.run(
      "run --virtual pair -- /bin/sh -c "
      "'echo $BRAID_MODE; echo $LD_PRELOAD; echo $LD_LIBRARY_PATH; "
      "echo $BRAID_VGPU_TOPOLOGY; test -d $BRAID_VGPU_SESSION && "
      "echo $BRAID_VGPU_SESSION > session'");
  ASSERT_TRUE(ended_with(result, 0, "auto\n"));
  EXPECT_NE(result.out.find(braid_.path("lib/libbraid.so")), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(braid_.path("lib/vgpu")), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(braid_.path("share/braid/topologies/pair.xml")), std::string::npos);
  std::string session = read_file(braid_.path("session"));
  session.erase(session.find_last_not_of('\n') + 1);
  ASSERT_FALSE(session.empty());
  EXPECT_FALSE(std::filesystem::exists(session));
}

TEST_F(RunCommand, StartsRanksAndTagsTheirOutput) {
  const RunResult result = braid_.run(
      "run --nproc 3 --tag-output -- /bin/sh -c "
      "'echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR'");
  ASSERT_EQ(result.status, 0) << result.err;
  for (const char* line : {"[0] rank 0 of 3 at 127.0.0.1\n", "[1] rank 1 of 3 at 127.0.0.1\n",
                           "[2] rank 2 of 3 at 127.0.0.1\n"}) {
    EXPECT_NE(result.out.find(line), std::string::npos) << result.out;
  }
}

TEST_F(RunCommand, OneRankThatDiesEndsTheOthers) {
  const RunResult result = braid_.run(
      "run --nproc 3 --grace 0.2 -- /bin/sh -c "
      "'test $RANK = 1 && exit 4; sleep 300'");
  EXPECT_TRUE(ended_with(result, 4, "rank 1 ended with exit status 4"));
}

TEST_F(RunCommand, ARankThatIgnoresTheEndIsKilled) {
  const RunResult result = braid_.run(
      "run --nproc 2 --grace 0.2 -- /bin/sh -c "
      "'test $RANK = 0 && exit 6; trap \"\" TERM; while :; do sleep 1; done'");
  EXPECT_TRUE(ended_with(result, 6, "rank 0 ended with exit status 6"));
}

TEST_F(RunCommand, PassesSignalsOn) {
  braid_.folder().write("job.sh",
                        "trap 'exit 42' USR1\ntouch ready\nwhile :; do sleep 0.05; done\n");
  braid_.folder().write("signal.sh",
                        "(while [ ! -e ready ]; do sleep 0.05; done; kill -USR1 $$) &\n"
                        "exec ./bin/braid run -- /bin/sh job.sh\n");
  const int status =
      std::system(("cd '" + braid_.folder().path() + "' && exec /bin/sh signal.sh").c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST_F(RunCommand, ObserveNamesTheTraceAndCounts) {
  const RunResult result = braid_.run("observe --trace here --nproc 2 -- " BRAID_TRACED_JOB);
  ASSERT_TRUE(ended_with(result, 0, "AllReduce"));
  EXPECT_NE(result.err.find(braid_.path("here")), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("64MiB"), std::string::npos) << result.err;
}

TEST_F(RunCommand, JsonOnStdoutIsNothingButJson) {
  const RunResult result =
      braid_.run("observe --json --trace here -- /bin/sh -c 'echo noise; exit 3'");
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("noise"), std::string::npos);
  const auto document = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << result.out;
  EXPECT_EQ(document.at("status"), 3);
  EXPECT_TRUE(ended_with(braid_.run("run --json no/such/folder.json -- true"), 2, "no/such"));
}

TEST_F(RunCommand, MissingLibraryIsSaid) {
  std::filesystem::remove(braid_.path("lib/libbraid.so"));
  EXPECT_TRUE(ended_with(braid_.run("run -- true"), 2, "libbraid.so"));
  EXPECT_TRUE(ended_with(braid_.run("run --mode off -- true"), 0, ""));
}

}  // namespace
}  // namespace braid::cli
