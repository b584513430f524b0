// What the recorder writes is what the reader reads, also when the disk is full or the process
// dies.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "interposer/trace_file.hpp"
#include "model/trace.hpp"
#include "tests/support/process.hpp"

namespace braid::interposer {
namespace {

namespace trace = model::trace;

trace::FileHeader header() {
  trace::FileHeader value{};
  std::memcpy(value.magic, trace::kMagic, sizeof(value.magic));
  value.version = trace::kVersion;
  value.header_bytes = sizeof(value);
  value.rank = -1;
  value.world_size = -1;
  return value;
}

void write_kernels(TraceFile& file, int count) {
  for (int i = 0; i < count; ++i) {
    trace::Kernel kernel{};
    kernel.name = file.intern("kernel_" + std::to_string(i % 7));
    kernel.grid[0] = static_cast<uint32_t>(i);
    file.append(trace::RecordType::kKernel, 0, 3, &kernel, sizeof(kernel));
  }
}

TEST(TraceFile, RoundTripOverSeveralWindows) {
  test::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.braidtrace";
  {
    TraceFile file(path, header());
    ASSERT_TRUE(file.is_open());
    write_kernels(file, 40000);  // about 3 MB
    file.set_rank(5, 8);
    file.close();
  }
  const auto read = trace::read_rank_trace(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->complete);
  EXPECT_EQ(read->header.rank, 5);
  size_t kernels = 0;
  for (const trace::Record& record : read->records) {
    if (const auto* kernel = std::get_if<trace::Kernel>(&record.payload)) {
      ASSERT_EQ(kernel->grid[0], kernels);
      ASSERT_EQ(read->name(kernel->name), "kernel_" + std::to_string(kernels % 7));
      ++kernels;
    }
  }
  EXPECT_EQ(kernels, 40000u);
}

TEST(TraceFile, AKilledProcessLosesNothing) {
  test::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.braidtrace";
  const pid_t child = fork();
  if (child == 0) {
    TraceFile file(path, header());
    write_kernels(file, 1000);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const auto read = trace::read_rank_trace(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_FALSE(read->complete);
  size_t kernels = 0;
  for (const trace::Record& record : read->records) {
    kernels += std::holds_alternative<trace::Kernel>(record.payload) ? 1 : 0;
  }
  EXPECT_EQ(kernels, 1000u);
}

TEST(TraceFile, AFullDiskCutsTheTraceAndSaysSo) {
  test::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.braidtrace";
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{(3u << 20) / 2, (3u << 20) / 2};
    setrlimit(RLIMIT_FSIZE, &limit);
    TraceFile file(path, header());
    write_kernels(file, 40000);
    file.close();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const auto read = trace::read_rank_trace(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_GT(read->dropped, 10000u);
  EXPECT_GT(read->records.size(), 5000u);
}

TEST(TraceFile, DoesNotFollowLinksOrOverwrite) {
  test::TemporaryFolder folder;
  const std::string target = folder.write("precious", "keep me");
  const std::string path = folder.path() + "/a.braidtrace";
  ASSERT_EQ(symlink(target.c_str(), path.c_str()), 0);
  TraceFile file(path, header());
  EXPECT_FALSE(file.is_open());
  EXPECT_EQ(test::read_file(target), "keep me");
}

}  // namespace
}  // namespace braid::interposer
