// The layouts NCCL's libraries expect on 64-bit Linux, written down as numbers.
#include <gtest/gtest.h>

#include <type_traits>

#include "tuner_plugin/abi/env.hpp"
#include "tuner_plugin/abi/profiler.hpp"
#include "tuner_plugin/abi/tuner.hpp"

namespace braid::abi {
namespace {

TEST(TunerAbi, TablesOfFunctions) {
  EXPECT_EQ(sizeof(TunerV2), 32u);
  EXPECT_EQ(sizeof(TunerV3), 32u);
  EXPECT_EQ(sizeof(TunerV4), 32u);
  EXPECT_EQ(sizeof(TunerV5), 32u);
  EXPECT_EQ(sizeof(TunerV6), 40u);
  EXPECT_EQ(offsetof(TunerV5, init), 8u);
  EXPECT_EQ(offsetof(TunerV5, get_collective_info), 16u);
  EXPECT_EQ(offsetof(TunerV5, finalize), 24u);
  EXPECT_EQ(offsetof(TunerV6, get_chunk_size), 32u);
  EXPECT_EQ(sizeof(EnvV1), 32u);
  EXPECT_EQ(sizeof(EnvV2), 32u);
  EXPECT_EQ(sizeof(ProfilerV2), 48u);
  EXPECT_EQ(sizeof(ProfilerV5), 48u);
  EXPECT_EQ(offsetof(ProfilerV4, functions), 16u);
}

TEST(TunerAbi, Constants) {
  EXPECT_EQ(sizeof(TunerConstants), 1152u);
  EXPECT_EQ(offsetof(TunerConstants, hardware_latencies), 168u);
  EXPECT_EQ(offsetof(TunerConstants, ll_max_bandwidths), 672u);
  EXPECT_EQ(offsetof(TunerConstants, channel_max_tree_bandwidths), 960u);
  EXPECT_EQ(sizeof(TunerNvlDomainInfo), 12u);
  EXPECT_EQ(sizeof(Result), sizeof(int));
  EXPECT_EQ(sizeof(Function), sizeof(int));
  EXPECT_EQ(sizeof(LogLevel), sizeof(int));
}

TEST(TunerAbi, ProfilerEvents) {
  EXPECT_EQ(sizeof(ProfilerEventV1), 24u + sizeof(ProfilerCollectiveV1));
  EXPECT_EQ(sizeof(ProfilerCollectiveV1), 96u);
  EXPECT_EQ(sizeof(ProfilerCollectiveV2), 104u);
  EXPECT_EQ(sizeof(ProfilerCollectiveV3), 96u);
  EXPECT_EQ(sizeof(ProfilerEventV4), 24u + 80u);
  EXPECT_EQ(sizeof(ProfilerEventV5), 24u + 88u);
  EXPECT_EQ(sizeof(ProfilerEventV6), 24u + sizeof(ProfilerCopyEngineCollective));
  EXPECT_EQ(offsetof(ProfilerCollectiveV5, algorithm), 64u);
  EXPECT_EQ(offsetof(ProfilerCollectiveApi, stream), 32u);
  EXPECT_EQ(offsetof(ProfilerKernelChannelV4, start_time), 8u);
  EXPECT_EQ(sizeof(ProfilerProxyOp), 24u);
  EXPECT_EQ(offsetof(ProfilerCopyEngineCollective, stream), 80u);
}

TEST(TunerAbi, TypesAreStandardLayout) {
  EXPECT_TRUE(std::is_standard_layout_v<TunerV6> && std::is_trivial_v<TunerV6>);
  EXPECT_TRUE(std::is_standard_layout_v<EnvV2> && std::is_trivial_v<EnvV2>);
  EXPECT_TRUE(std::is_standard_layout_v<ProfilerV6> && std::is_trivial_v<ProfilerV6>);
  EXPECT_TRUE(std::is_standard_layout_v<ProfilerEventV6> && std::is_trivial_v<ProfilerEventV6>);
}

}  // namespace
}  // namespace braid::abi
