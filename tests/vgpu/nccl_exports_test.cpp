// The library's face: names, versions, aliases, and that a private session works without settings.
#include <dlfcn.h>

#include <fstream>

#include "nccl_test_support.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

/// Exports of NCCL 2.28.9 that have a pnccl twin.
constexpr const char* kNames[] = {"AllGather",
                                  "AllReduce",
                                  "AlltoAll",
                                  "Bcast",
                                  "Broadcast",
                                  "CommAbort",
                                  "CommCount",
                                  "CommCuDevice",
                                  "CommDeregister",
                                  "CommDestroy",
                                  "CommFinalize",
                                  "CommGetAsyncError",
                                  "CommInitAll",
                                  "CommInitRank",
                                  "CommInitRankConfig",
                                  "CommInitRankScalable",
                                  "CommRegister",
                                  "CommRevoke",
                                  "CommShrink",
                                  "CommSplit",
                                  "CommUserRank",
                                  "CommWindowDeregister",
                                  "CommWindowRegister",
                                  "DevCommCreate",
                                  "DevCommDestroy",
                                  "Gather",
                                  "GetErrorString",
                                  "GetLastError",
                                  "GetUniqueId",
                                  "GetVersion",
                                  "GinBarrierCreateRequirement",
                                  "GroupEnd",
                                  "GroupSimulateEnd",
                                  "GroupStart",
                                  "LLA2ACalcSlots",
                                  "LLA2ACreateRequirement",
                                  "LsaBarrierCreateRequirement",
                                  "MemAlloc",
                                  "MemFree",
                                  "Recv",
                                  "RedOpCreatePreMulSum",
                                  "RedOpDestroy",
                                  "Reduce",
                                  "ReduceScatter",
                                  "ResetDebugInit",
                                  "Scatter",
                                  "Send",
                                  "TeamLsa",
                                  "TeamRail",
                                  "TeamRankToLsa",
                                  "TeamRankToWorld",
                                  "TeamWorld"};

TEST(NcclExports, EveryNameHasItsTwinAtTheSameAddress) {
  void* library = dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  for (const char* name : kNames) {
    void* weak = dlsym(library, (std::string("nccl") + name).c_str());
    void* strong = dlsym(library, (std::string("pnccl") + name).c_str());
    EXPECT_NE(weak, nullptr) << name;
    EXPECT_EQ(weak, strong) << name;
  }
  EXPECT_NE(dlsym(library, "ncclResetDebugInitInternal"), nullptr);
}

TEST(NcclExports, SaysItsVersionAndErrors) {
  int version = 0;
  EXPECT_NCCL(ncclGetVersion(&version));
  EXPECT_EQ(version, 22809);
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
  EXPECT_STREQ(ncclGetErrorString(ncclNumResults), "unknown result code");
}

TEST(NcclExports, LogsInNcclsForm) {
  const std::string path = ::testing::TempDir() + "braid-nccl-log-" + std::to_string(getpid());
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_FILE", path.c_str(), 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  ncclResetDebugInit();
#pragma GCC diagnostic pop
  run_ranks(2, [](Rank& rank) {
    EXPECT_EQ(ncclSend(nullptr, 1, ncclChar, 9, rank.comm, rank.stream), ncclInvalidArgument);
  });
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(text.find(" NCCL INFO "), std::string::npos);
  EXPECT_NE(text.find("Init COMPLETE"), std::string::npos);
  EXPECT_NE(text.find(" NCCL WARN Send : invalid peer 9"), std::string::npos);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
