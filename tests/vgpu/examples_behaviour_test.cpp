// What the examples do besides computing: the same bits in every run and under every schedule,
// errors for wrong use, and nothing of braid inside.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "examples_process.hpp"

namespace {

using braid::testing::ProcessResult;
using braid::testing::run_example;
using braid::testing::run_example_processes;

std::vector<std::string> small(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"--hidden", "32", "--ffn", "64", "--tokens", "32"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class ExampleSchedules
    : public ::testing::TestWithParam<std::pair<std::string, std::vector<std::string>>> {};

TEST_P(ExampleSchedules, DoNotChangeAnyBit) {
  const auto& [program, style] = GetParam();
  std::vector<std::string> arguments = small(style);
  arguments.insert(arguments.end(), {"--ranks", "4"});
  const ProcessResult plain = run_example(program, arguments);
  ASSERT_EQ(plain.exit_code, 0) << plain.output;
  ASSERT_NE(plain.checksum(), "");
  EXPECT_EQ(run_example(program, arguments).checksum(), plain.checksum());
  for (const char* seed : {"1", "2", "3", "4"}) {
    const ProcessResult shaken =
        run_example(program, arguments, {{"BRAID_VGPU_SEED", seed}, {"BRAID_VGPU_QUEUES", "32"}});
    EXPECT_EQ(shaken.exit_code, 0) << shaken.output;
    EXPECT_EQ(shaken.checksum(), plain.checksum()) << "BRAID_VGPU_SEED=" << seed;
  }
  const ProcessResult one_queue = run_example(program, arguments, {{"BRAID_VGPU_QUEUES", "1"}});
  EXPECT_EQ(one_queue.checksum(), plain.checksum());
}

INSTANTIATE_TEST_SUITE_P(
    , ExampleSchedules,
    ::testing::Values(std::make_pair("tp_mlp", std::vector<std::string>{}),
                      std::make_pair("tp_mlp", std::vector<std::string>{"--sequence-parallel",
                                                                        "--dtype", "bf16"}),
                      std::make_pair("dp_mlp", std::vector<std::string>{"--layers", "4"}),
                      std::make_pair("dp_mlp",
                                     std::vector<std::string>{"--layers", "4", "--shard"}),
                      std::make_pair("moe_a2a", std::vector<std::string>{})));

TEST(Examples, ProcessesAndThreadsGiveTheSameBits) {
  const ProcessResult threads = run_example("tp_mlp", small({"--ranks", "2"}));
  ASSERT_EQ(threads.exit_code, 0) << threads.output;
  const std::vector<ProcessResult> processes = run_example_processes("tp_mlp", small({}), 2);
  EXPECT_EQ(processes[0].checksum(), threads.checksum()) << processes[0].output;
  EXPECT_EQ(processes[1].exit_code, 0) << processes[1].output;
}

TEST(Examples, StreamsAndGroupsGiveTheSameBits) {
  const ProcessResult own = run_example("tp_mlp", small({"--ranks", "4"}));
  const ProcessResult compute =
      run_example("tp_mlp", small({"--ranks", "4", "--collective-stream", "compute", "--group"}));
  EXPECT_EQ(own.exit_code, 0) << own.output;
  EXPECT_EQ(own.checksum(), compute.checksum());
}

TEST(Examples, BatchTimesSequenceIsTokens) {
  const ProcessResult tokens = run_example("tp_mlp", small({"--ranks", "1"}));
  const ProcessResult batch =
      run_example("tp_mlp", {"--hidden", "32", "--ffn=64", "--batch=4", "--seq=8", "--ranks=1"});
  EXPECT_EQ(batch.exit_code, 0) << batch.output;
  EXPECT_EQ(tokens.checksum(), batch.checksum());
}

TEST(Examples, LargeShapesRunWithoutComputing) {
  const ProcessResult result = run_example(
      "tp_mlp", {"--hidden", "8192", "--tokens", "4096", "--dtype", "bf16", "--ranks", "8"},
      {{"BRAID_VGPU_COMPUTE", "off"}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST(Examples, WrongFlagsExitWithTwo) {
  const struct {
    std::vector<std::string> arguments;
    const char* expected;
  } cases[] = {
      {{"--hiden", "4"}, "unknown flag '--hiden'"},
      {{"--hidden", "four"}, "--hidden: expected a whole number"},
      {{"--hidden"}, "--hidden needs a value"},
      {{"--dtype", "int8"}, "fp32|bf16|fp16"},
      {{"--group=1"}, "--group takes no value"},
      {{"--batch", "2"}, "--batch and --seq"},
      {{"--ffn", "6", "--ranks", "4"}, "--ffn must be a multiple of the 4 ranks"},
  };
  for (const auto& test : cases) {
    const ProcessResult result = run_example("tp_mlp", test.arguments);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_NE(result.output.find(test.expected), std::string::npos) << result.output;
  }
}

TEST(Examples, FewerGpusThanRanks) {
  const ProcessResult result = run_example("tp_mlp", small({"--ranks", "16"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("--ranks 16 needs 16 GPUs; this machine has 8"), std::string::npos)
      << result.output;
}

TEST(Examples, NoGpuIsNamedWithItsReason) {
  const ProcessResult result = run_example("tp_mlp", small({"--ranks", "2"}),
                                           {{"BRAID_VGPU_TOPOLOGY", "/nonexistent/box.xml"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("/nonexistent/box.xml"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("launcher.cpp"), std::string::npos) << result.output;
}

TEST(Examples, OutOfMemoryNamesFileAndLine) {
  const ProcessResult result =
      run_example("tp_mlp", {"--hidden", "1024", "--ranks", "1"}, {{"BRAID_VGPU_MEMORY", "8MiB"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("caching_allocator.cpp:"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("cudaMalloc"), std::string::npos) << result.output;
}

TEST(Examples, DumpThatCannotBeWritten) {
  const ProcessResult result =
      run_example("tp_mlp", small({"--ranks", "1", "--dump", "/nonexistent/folder/out"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.output.find("/nonexistent/folder/out.rank0"), std::string::npos)
      << result.output;
}

TEST(Examples, BinariesKnowNothingOfBraid) {
  for (const char* program : {"tp_mlp", "dp_mlp", "moe_a2a"}) {
    const std::string path = std::string(BRAID_BINARY_DIR) + "/examples/" + program;
    const std::string command = "{ nm -C " + path + "; nm -DC " + path + "; readelf -d " + path +
                                "; } | grep -vi asan | grep -ci braid";
    FILE* pipe = popen(command.c_str(), "r");
    int lines = -1;
    ASSERT_EQ(fscanf(pipe, "%d", &lines), 1);
    pclose(pipe);
    EXPECT_EQ(lines, 0) << program;
  }
}

}  // namespace
