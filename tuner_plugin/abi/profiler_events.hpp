// What NCCL tells a profiler plugin about an event: one descriptor layout per interface version.
//
// A descriptor is a kind, the parent event, the rank and a union. The layouts of the union's
// members changed between versions and are repeated here per version where they did.
#pragma once

#include <sys/types.h>

#include "tuner_plugin/abi/common.hpp"

namespace braid::abi {

/// Kinds of events: the descriptor's `kind` has one of these bits, the activation mask any of them.
/// Kernel channel and net plugin came with v3, the API and launch events with v5, the copy engine's
/// with v6.
enum ProfilerEventKind : uint32_t {
  kEventGroup = 1u << 0,
  kEventCollective = 1u << 1,
  kEventPointToPoint = 1u << 2,
  kEventProxyOp = 1u << 3,
  kEventProxyStep = 1u << 4,
  kEventProxyControl = 1u << 5,
  kEventKernelChannel = 1u << 6,
  kEventNetPlugin = 1u << 7,
  kEventGroupApi = 1u << 8,
  kEventCollectiveApi = 1u << 9,
  kEventPointToPointApi = 1u << 10,
  kEventKernelLaunch = 1u << 11,
  kEventCopyEngineCollective = 1u << 12,
  kEventCopyEngineSync = 1u << 13,
  kEventCopyEngineBatch = 1u << 14,
};

// Members that are the same in all versions that have them.

struct ProfilerProxyOp {
  pid_t pid;  // process that issued it; with PXN it may be another one
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct ProfilerProxyStep {
  int step;
};

struct ProfilerNetPlugin {
  int64_t id;
  void* data;
};

struct ProfilerKernelChannelV3 {
  uint8_t channel;
};

struct ProfilerKernelChannelV4 {
  uint8_t channel;
  uint64_t start_time;  // the GPU's globaltimer, nanoseconds
};

struct ProfilerCollectiveV1 {
  const char* communicator_name;
  uint64_t communicator;
  uint64_t sequence;
  uint8_t function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  uint8_t datatype;
  uint32_t op;
  size_t traffic_bytes;
  uint8_t max_channels;
  uint8_t warps;
  uint8_t algorithm;
  uint8_t protocol;
  int is_collnet;
  int is_nvls;
};

struct ProfilerPointToPointV1 {
  const char* communicator_name;
  uint64_t communicator;
  uint8_t function;
  void* buffer;
  uint8_t datatype;
  size_t count;
  int peer;
};

/// From v2 on functions, datatypes, algorithms and protocols are names.
struct ProfilerCollectiveV2 {
  const char* communicator_name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  size_t traffic_bytes;
  uint8_t max_channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct ProfilerPointToPointV2 {
  const char* communicator_name;
  uint64_t communicator;
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
};

struct ProfilerCollectiveV3 {
  const char* communicator_name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  uint8_t max_channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

/// From v4 on the communicator is known from init.
struct ProfilerCollectiveV4 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct ProfilerPointToPointV4 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
};

struct ProfilerCollectiveV5 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;  // the v4 parent; the descriptor's own parent is the API event
};

struct ProfilerPointToPointV5 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
  void* parent_group;
};

struct ProfilerGroupApi {
  bool graph_captured;
  int depth;
};

struct ProfilerCollectiveApi {
  const char* function;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graph_captured;
};

struct ProfilerPointToPointApi {
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  bool graph_captured;
};

struct ProfilerKernelLaunch {
  void* stream;
};

struct ProfilerCopyEngineCollective {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  const char* sync_strategy;
  bool intra_batch_sync;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t copy_engine_sequence;
  void* stream;
};

struct ProfilerCopyEngineSync {
  bool is_complete;
  int ranks;
};

struct ProfilerCopyEngineBatch {
  int operations;
  size_t total_bytes;
  bool use_intra_sync;
};

/// `kind` is one byte up to v4 and eight from v5 on.
template <typename Kind, typename Union>
struct ProfilerEvent {
  Kind kind;
  void* parent;
  int rank;
  Union of;
};

union ProfilerUnionV1 {
  ProfilerCollectiveV1 collective;
  ProfilerPointToPointV1 point_to_point;
  ProfilerProxyOp proxy_op;
  ProfilerProxyStep proxy_step;
};

union ProfilerUnionV2 {
  ProfilerCollectiveV2 collective;
  ProfilerPointToPointV2 point_to_point;
  ProfilerProxyOp proxy_op;
  ProfilerProxyStep proxy_step;
};

union ProfilerUnionV3 {
  ProfilerCollectiveV3 collective;
  ProfilerPointToPointV2 point_to_point;
  ProfilerProxyOp proxy_op;
  ProfilerProxyStep proxy_step;
  ProfilerKernelChannelV3 kernel_channel;
  ProfilerNetPlugin net_plugin;
};

union ProfilerUnionV4 {
  ProfilerCollectiveV4 collective;
  ProfilerPointToPointV4 point_to_point;
  ProfilerProxyOp proxy_op;
  ProfilerProxyStep proxy_step;
  ProfilerKernelChannelV4 kernel_channel;
  ProfilerNetPlugin net_plugin;
};

union ProfilerUnionV5 {
  ProfilerGroupApi group_api;
  ProfilerCollectiveApi collective_api;
  ProfilerPointToPointApi point_to_point_api;
  ProfilerKernelLaunch kernel_launch;
  ProfilerCollectiveV5 collective;
  ProfilerPointToPointV5 point_to_point;
  ProfilerProxyOp proxy_op;
  ProfilerProxyStep proxy_step;
  ProfilerKernelChannelV4 kernel_channel;
  ProfilerNetPlugin net_plugin;
};

union ProfilerUnionV6 {
  ProfilerGroupApi group_api;
  ProfilerCollectiveApi collective_api;
  ProfilerPointToPointApi point_to_point_api;
  ProfilerKernelLaunch kernel_launch;
  ProfilerCollectiveV5 collective;
  ProfilerPointToPointV5 point_to_point;
  ProfilerProxyOp proxy_op;
  ProfilerProxyStep proxy_step;
  ProfilerKernelChannelV4 kernel_channel;
  ProfilerNetPlugin net_plugin;
  ProfilerCopyEngineCollective copy_engine_collective;
  ProfilerCopyEngineSync copy_engine_sync;
  ProfilerCopyEngineBatch copy_engine_batch;
};

using ProfilerEventV1 = ProfilerEvent<uint8_t, ProfilerUnionV1>;
using ProfilerEventV2 = ProfilerEvent<uint8_t, ProfilerUnionV2>;
using ProfilerEventV3 = ProfilerEvent<uint8_t, ProfilerUnionV3>;
using ProfilerEventV4 = ProfilerEvent<uint8_t, ProfilerUnionV4>;
using ProfilerEventV5 = ProfilerEvent<uint64_t, ProfilerUnionV5>;
using ProfilerEventV6 = ProfilerEvent<uint64_t, ProfilerUnionV6>;

// Offsets that every version shares on 64-bit Linux: kind 0, parent 8, rank 16, the union 24.
static_assert(offsetof(ProfilerEventV1, parent) == 8 && offsetof(ProfilerEventV1, of) == 24);
static_assert(offsetof(ProfilerEventV6, parent) == 8 && offsetof(ProfilerEventV6, of) == 24);
static_assert(sizeof(ProfilerCollectiveV4) == 80 && sizeof(ProfilerCollectiveV5) == 88);

/// Arguments of a state change in v1 to v3.
union ProfilerStateArgumentsV1 {
  struct {
    size_t transferred_bytes;
    int steps;
  } proxy_op;
  struct {
    int appended_proxy_ops;
  } proxy_control;
};

/// The same from v4 on.
union ProfilerStateArgumentsV4 {
  struct {
    size_t transferred_bytes;
  } proxy_step;
  struct {
    int appended_proxy_ops;
  } proxy_control;
  struct {
    void* data;
  } net_plugin;
  struct {
    uint64_t stop_time;  // the GPU's globaltimer, nanoseconds
  } kernel_channel;
};

}  // namespace braid::abi
