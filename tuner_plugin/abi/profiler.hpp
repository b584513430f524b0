// NCCL's profiler plugin interface, versions 1 to 6: masks, states and function tables. The event
// descriptors, which differ most between versions, are in profiler_events.hpp.
//
//   v1 since 2.23; v2 since 2.24; v3 since 2.26 (kernel channel, net plugin); v4 since 2.27 (GPU
//   time stamps); v5 since 2.28 (API events, kernel launch); v6 since 2.29 (copy engine
//   collectives).
#pragma once

#include "tuner_plugin/abi/profiler_events.hpp"

namespace braid::abi {

inline constexpr const char* kProfilerSymbolV1 = "ncclProfiler_v1";
inline constexpr const char* kProfilerSymbolV2 = "ncclProfiler_v2";
inline constexpr const char* kProfilerSymbolV3 = "ncclProfiler_v3";
inline constexpr const char* kProfilerSymbolV4 = "ncclProfiler_v4";
inline constexpr const char* kProfilerSymbolV5 = "ncclProfiler_v5";
inline constexpr const char* kProfilerSymbolV6 = "ncclProfiler_v6";

/// What an event's state changes to. Values 0 to 7 are no longer sent since v4; from 25 on since
/// v6.
enum ProfilerEventState : int32_t {
  kStateProxyOpSendPosted = 0,
  kStateProxyOpSendRemoteFifoWait = 1,
  kStateProxyOpSendTransmitted = 2,
  kStateProxyOpSendDone = 3,
  kStateProxyOpReceivePosted = 4,
  kStateProxyOpReceiveReceived = 5,
  kStateProxyOpReceiveTransmitted = 6,
  kStateProxyOpReceiveDone = 7,
  kStateProxyStepSendGpuWait = 8,
  kStateProxyStepSendWait = 9,
  kStateProxyStepReceiveWait = 10,
  kStateProxyStepReceiveFlushWait = 11,
  kStateProxyStepReceiveGpuWait = 12,
  kStateProxyControlIdle = 13,
  kStateProxyControlActive = 14,
  kStateProxyControlSleep = 15,
  kStateProxyControlWakeup = 16,
  kStateProxyControlAppend = 17,
  kStateProxyControlAppendEnd = 18,
  kStateProxyOpInProgress = 19,
  kStateProxyStepSendPeerWait = 20,
  kStateNetPluginUpdate = 21,
  kStateKernelChannelStop = 22,
  kStateGroupStartApiStop = 23,
  kStateGroupEndApiStart = 24,
  kStateCopyEngineStart = 25,
  kStateCopyEngineComplete = 26,
  kStateCopyEngineSyncStart = 27,
  kStateCopyEngineSyncComplete = 28,
  kStateCopyEngineBatchStart = 29,
  kStateCopyEngineBatchComplete = 30,
};

/// The functions all versions share, over the version's own descriptor and state arguments. A start
/// may leave `*event` null: NCCL then sends nothing more about that event. Return values other than
/// init's are ignored by NCCL; a failing init only switches the profiler off.
template <typename Descriptor, typename StateArguments>
struct ProfilerFunctions {
  Result (*start_event)(void* context, void** event, Descriptor* descriptor);
  Result (*stop_event)(void* event);
  Result (*record_event_state)(void* event, ProfilerEventState state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

/// Versions 1 to 3. `*mask` is one process-wide number: the last communicator's init wins, and the
/// plugin may change it later (atomically) to switch events on and off.
template <typename Descriptor, typename StateArguments>
struct ProfilerUnnamed {
  const char* name;
  Result (*init)(void** context, int* mask);
  ProfilerFunctions<Descriptor, StateArguments> functions;
};
using ProfilerV1 = ProfilerUnnamed<ProfilerEventV1, ProfilerStateArgumentsV1>;
using ProfilerV2 = ProfilerUnnamed<ProfilerEventV2, ProfilerStateArgumentsV1>;
using ProfilerV3 = ProfilerUnnamed<ProfilerEventV3, ProfilerStateArgumentsV1>;

/// Version 4.
struct ProfilerV4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* communicator_name, uint64_t communicator,
                 int nodes, int ranks, int rank, Logger logger);
  ProfilerFunctions<ProfilerEventV4, ProfilerStateArgumentsV4> functions;
};

/// Versions 5 and 6: the communicator's id moved before the mask.
template <typename Descriptor, typename StateArguments>
struct ProfilerIdentified {
  const char* name;
  Result (*init)(void** context, uint64_t communicator, int* mask, const char* communicator_name,
                 int nodes, int ranks, int rank, Logger logger);
  ProfilerFunctions<Descriptor, StateArguments> functions;
};
using ProfilerV5 = ProfilerIdentified<ProfilerEventV5, ProfilerStateArgumentsV4>;
using ProfilerV6 = ProfilerIdentified<ProfilerEventV6, ProfilerStateArgumentsV4>;

static_assert(sizeof(ProfilerV1) == 6 * sizeof(void*));
static_assert(sizeof(ProfilerV4) == 6 * sizeof(void*));
static_assert(sizeof(ProfilerV6) == 6 * sizeof(void*));

}  // namespace braid::abi
