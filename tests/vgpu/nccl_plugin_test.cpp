// Plugins: found by NCCL's rules, called by its protocol, obeyed.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "nccl_test_plugins.hpp"
#include "nccl_test_support.hpp"
#include "tuner_plugin/abi/tuner.hpp"

// The program's own ncclBroadcast replaces the library's weak one, as a preloaded library's would.
static std::atomic<int> broadcasts_seen{0};
extern "C" __attribute__((visibility("default"))) ncclResult_t ncclBroadcast(
    const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
    cudaStream_t stream) {
  ++broadcasts_seen;
  return pncclBroadcast(send, receive, count, type, root, comm, stream);
}

namespace braid::vgpu::nccl::testing {
namespace {

/// Runs one AllReduce of this many bytes on two ranks with the tuner loaded.
void all_reduce_with_tuner(const std::function<void(const TunerRecord&)>& look,
                           const std::function<void(TunerOrders&)>& prepare = {},
                           ncclResult_t expected = ncclSuccess) {
  setenv("NCCL_TUNER_PLUGIN", NCCL_TEST_TUNER, 1);
  // Keeps the library loaded between communicators, and lets orders be given before.
  void* handle = dlopen(NCCL_TEST_TUNER, RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  auto* orders = static_cast<TunerOrders*>(dlsym(handle, "test_tuner_orders"));
  auto* record = static_cast<TunerRecord*>(dlsym(handle, "test_tuner_record"));
  if (prepare) {
    prepare(*orders);
  }
  run_ranks(2, [&](Rank& rank) {
    DeviceBuffer buffer(1 << 20);
    std::memset(buffer.data(), 1, buffer.bytes());
    EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), buffer.bytes(), ncclUint8, ncclSum,
                            rank.comm, rank.stream),
              expected);
    rank.synchronize();
    EXPECT_EQ(buffer.as<uint8_t>()[0], expected == ncclSuccess ? 2 : 1);
  });
  look(*record);
}

TEST(NcclTuner, IsAskedOncePerCallWithNcclsTable) {
  all_reduce_with_tuner([](const TunerRecord& record) {
    EXPECT_EQ(record.inits, 2);
    EXPECT_EQ(record.finalizes, 2);
    EXPECT_EQ(record.asks, 2);
    EXPECT_EQ(record.ranks, 2u);
    EXPECT_EQ(record.nodes, 1u);
    EXPECT_EQ(record.bytes, size_t{1} << 20);
    EXPECT_EQ(record.function, abi::kAllReduce);
    EXPECT_GT(record.ring_simple_us, 0.0f);
    EXPECT_EQ(record.pat_us, -1.0f);
    EXPECT_DOUBLE_EQ(record.base_latency_ring_simple, 8.4);
  });
}

TEST(NcclTuner, ErrorsAreTheCallsResult) {
  all_reduce_with_tuner([](const TunerRecord&) {},
                        [](TunerOrders& orders) { orders.result = abi::kInternalError; },
                        ncclInternalError);
}

TEST(NcclTuner, AZeroedEntryWins) {
  all_reduce_with_tuner([](const TunerRecord&) {},
                        [](TunerOrders& orders) {
                          orders.algorithm = abi::kAlgorithmTree;
                          orders.protocol = abi::kProtocolSimple;
                          orders.channels = 1;
                        });
}

TEST(NcclTuner, AnEntryWithoutKernelIsAnError) {
  all_reduce_with_tuner([](const TunerRecord&) {},
                        [](TunerOrders& orders) {
                          orders.algorithm = abi::kAlgorithmPat;
                          orders.protocol = abi::kProtocolSimple;
                        },
                        ncclInternalError);
}

TEST(NcclTuner, ChangedConstantsChangeTheTable) {
  float before = 0;
  all_reduce_with_tuner([&](const TunerRecord& record) { before = record.ring_simple_us; });
  all_reduce_with_tuner(
      [&](const TunerRecord& record) { EXPECT_NEAR(record.ring_simple_us, before + 100, 0.1); },
      [](TunerOrders& orders) { orders.added_base_latency = 100; });
}

TEST(NcclTuner, IsNotLoadedForNone) {
  setenv("NCCL_TUNER_PLUGIN", "NONE", 1);
  run_ranks(2, [](Rank&) {});
  EXPECT_EQ(dlopen(NCCL_TEST_TUNER, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(NcclProfiler, SeesTheCallsAndTheirChannels) {
  setenv("NCCL_PROFILER_PLUGIN", NCCL_TEST_PROFILER, 1);
  void* handle = dlopen(NCCL_TEST_PROFILER, RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(1 << 20);
    ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), buffer.bytes(), ncclUint8, ncclSum,
                              rank.comm, rank.stream));
    ASSERT_NCCL(ncclGroupStart());
    ASSERT_NCCL(ncclSend(buffer.data(), 8, ncclChar, 1 - rank.rank, rank.comm, rank.stream));
    ASSERT_NCCL(
        ncclRecv(buffer.as<char>() + 64, 8, ncclChar, 1 - rank.rank, rank.comm, rank.stream));
    ASSERT_NCCL(ncclGroupEnd());
    rank.synchronize();
  });
  const auto& record = *static_cast<const ProfilerRecord*>(dlsym(handle, "test_profiler_record"));
  EXPECT_EQ(record.inits, 2);
  EXPECT_EQ(record.finalizes, 2);
  EXPECT_EQ(record.collectives, 2);
  EXPECT_EQ(record.messages, 4);
  EXPECT_EQ(record.collective_apis, 2);
  EXPECT_EQ(record.message_apis, 4);
  EXPECT_EQ(record.launches, 4);
  EXPECT_GE(record.kernel_channels, 6);
  EXPECT_EQ(record.kernel_stops, record.kernel_channels);
  EXPECT_EQ(record.starts, record.stops);
  EXPECT_GT(record.channels_of_collective, 0);
}

/// The sum over four ranks whose value shows whether it was formed along the chain (Tree) or not.
bool sums_along_the_chain(size_t count) {
  bool result = false;
  run_ranks(4, [&](Rank& rank) {
    DeviceBuffer buffer(count * sizeof(float));
    // 1e8 + 1 is 1e8 in float: the order of the ones and the large values shows.
    const float values[] = {1.0f, 1e8f, -1e8f, 1.0f};
    std::fill_n(buffer.as<float>(), count, values[rank.rank]);
    ASSERT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), count, ncclFloat32, ncclSum, rank.comm,
                              rank.stream));
    rank.synchronize();
    if (rank.rank == 0) {
      // Rings start each chunk at another rank: its elements do not all come out alike.
      result = std::all_of(buffer.as<float>(), buffer.as<float>() + count,
                           [&](float value) { return value == buffer.as<float>()[0]; });
    }
  });
  return result;
}

TEST(NcclTuner, OlderVersionsAreObeyedToo) {
  for (const char* library : {NCCL_OLD_PLUGINS "tuner_v2.so", NCCL_OLD_PLUGINS "tuner_v3.so",
                              NCCL_OLD_PLUGINS "tuner_v4.so"}) {
    // With a single communicator the library is let go of at the end, so that another can follow;
    // the four here share one load, which stays. Each version therefore has a process of its own.
    if (const char* wanted = std::getenv("NCCL_TEST_ONLY"); wanted == nullptr) {
      setenv("NCCL_TEST_ONLY", library, 1);
      setenv("NCCL_TUNER_PLUGIN", library, 1);
      const std::string command =
          "/proc/" + std::to_string(getpid()) + "/exe --gtest_filter=NcclTuner.OlderVersions*";
      EXPECT_EQ(std::system((command + " > /dev/null").c_str()), 0) << library;
      unsetenv("NCCL_TEST_ONLY");
    } else {
      EXPECT_TRUE(sums_along_the_chain(100'000));
      return;
    }
  }
  setenv("NCCL_TUNER_PLUGIN", "none", 1);
  EXPECT_FALSE(sums_along_the_chain(100'000));
}

TEST(NcclProfiler, OlderVersionsAreToldInTheirLayout) {
  for (int version = 1; version <= 4; ++version) {
    const std::string library = NCCL_OLD_PLUGINS "profiler_v" + std::to_string(version) + ".so";
    setenv("NCCL_PROFILER_PLUGIN", library.c_str(), 1);
    void* handle = dlopen(library.c_str(), RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "pair";
    run_ranks(
        2,
        [](Rank& rank) {
          DeviceBuffer buffer(400);
          ASSERT_NCCL(
              ncclAllGather(buffer.data(), buffer.data(), 200, ncclUint8, rank.comm, rank.stream));
          rank.synchronize();
        },
        &config);
    const auto& record = *static_cast<const OldProfilerRecord*>(dlsym(handle, "test_old_profiler"));
    EXPECT_EQ(record.count, 200u) << version;
    EXPECT_STREQ(record.function, version == 1 ? "2" : "AllGather");
    EXPECT_STREQ(record.algorithm, version == 1 ? "1" : "Ring");
    EXPECT_TRUE(record.has_group);
    EXPECT_STREQ(record.name, version == 4 ? "pair" : "");
  }
}

TEST(NcclEnvironmentPlugin, AnswersEveryLookUp) {
  setenv("NCCL_ENV_PLUGIN", NCCL_TEST_ENV, 1);
  setenv("TEST_ENV_ANSWER_NCCL_ALGO", "tree", 1);
  setenv("NCCL_ALGO", "ring", 1);
  use_box();
  use_device(0);
  // The plugin's answer leaves AllGather nothing that it can run.
  run_ranks(2, [](Rank& rank) {
    DeviceBuffer buffer(64);
    EXPECT_EQ(ncclAllGather(buffer.data(), buffer.data(), 16, ncclUint8, rank.comm, rank.stream),
              ncclInvalidUsage);
    EXPECT_NCCL(ncclAllReduce(buffer.data(), buffer.data(), 16, ncclUint8, ncclSum, rank.comm,
                              rank.stream));
    rank.synchronize();
  });
}

TEST(NcclSelfCalls, BcastGoesThroughTheExportedBroadcast) {
  run_ranks(1, [](Rank& rank) {
    DeviceBuffer buffer(64);
    broadcasts_seen = 0;
    EXPECT_NCCL(ncclBcast(buffer.data(), 64, ncclChar, 0, rank.comm, rank.stream));
    EXPECT_EQ(broadcasts_seen, 1);
  });
}

/// A graph file of one ring and one chain over `gpus` NVML indices in this order.
std::string write_graph(const std::vector<int>& order) {
  const std::string path =
      ::testing::TempDir() + "braid-graph-" + std::to_string(getpid()) + ".xml";
  std::ofstream file(path);
  file << "<graphs version=\"1\">\n";
  for (const int id : {0, 1}) {
    file << "<graph id=\"" << id << "\" pattern=\"" << (id == 0 ? 4 : 1)
         << "\" crossnic=\"0\" nchannels=\"1\" speedintra=\"20\" speedinter=\"20\" "
            "latencyinter=\"0\" typeintra=\"PHB\" typeinter=\"PIX\" samechannels=\"1\">\n<channel>";
    for (const int dev : order) {
      file << "<gpu dev=\"0x" << dev << "\"/>";
    }
    file << "</channel>\n</graph>\n";
  }
  file << "</graphs>\n";
  return path;
}

float sum_of_four(const std::vector<float>& values) {
  float result = 0;
  run_ranks(4, [&](Rank& rank) {
    DeviceBuffer buffer(4);
    *buffer.as<float>() = values[static_cast<size_t>(rank.rank)];
    ASSERT_NCCL(ncclReduce(buffer.data(), buffer.data(), 1, ncclFloat32, ncclSum, 0, rank.comm,
                           rank.stream));
    rank.synchronize();
    if (rank.rank == 0) {
      result = *buffer.as<float>();
    }
  });
  return result;
}

TEST(NcclGraphFile, IsFollowedExactly) {
  // Reduce to rank 0 sums along the ring from rank 0's successor on.
  const std::vector<float> values = {1.0f, 1e8f, -1e8f, 3.0f};
  std::string path = write_graph({0, 1, 2, 3});
  setenv("NCCL_GRAPH_FILE", path.c_str(), 1);
  EXPECT_EQ(sum_of_four(values), ((1e8f + -1e8f) + 3.0f) + 1.0f);
  path = write_graph({0, 1, 3, 2});
  EXPECT_EQ(sum_of_four(values), ((1e8f + 3.0f) + -1e8f) + 1.0f);
  unsetenv("NCCL_GRAPH_FILE");
  std::filesystem::remove(path);
}

TEST(NcclGraphFile, AForeignGpuOrAMissingFileFailsInitialisation) {
  const std::string path = write_graph({0, 1, 2, 3});
  use_box();
  use_device(0);
  for (const std::string& file : {path, path + ".missing"}) {
    setenv("NCCL_GRAPH_FILE", file.c_str(), 1);
    ncclUniqueId id;
    ASSERT_NCCL(ncclGetUniqueId(&id));
    run_threads(2, [&](int rank) {
      ncclComm_t comm = nullptr;
      EXPECT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSystemError);
      EXPECT_EQ(comm, nullptr);
    });
  }
  unsetenv("NCCL_GRAPH_FILE");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
