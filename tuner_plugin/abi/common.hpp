// Types that all of NCCL's plugin interfaces share: results, functions, the logger.
//
// These headers describe a binary interface, not NCCL's source: every type is standard layout,
// every number is the one NCCL's libraries use, and nothing here needs nccl.h or a CUDA header.
// Both sides of the interface use them: the plugin, and the virtual NCCL that loads plugins.
#pragma once

#include <cstddef>
#include <cstdint>

namespace braid::abi {

/// ncclResult_t.
enum Result : int32_t {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

/// ncclFunc_t: what a tuner and a version 1 profiler are told a call does. The first five have been
/// stable since NCCL 2.19; kAllToAll and later came with 2.28.
enum Function : int32_t {
  kBroadcast = 0,
  kReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kAllReduce = 4,
  kSendRecv = 5,
  kSend = 6,
  kRecv = 7,
  kAllToAll = 8,
  kScatter = 9,
  kGather = 10,
};

/// ncclDebugLogLevel.
enum LogLevel : int32_t {
  kLogNone = 0,
  kLogVersion = 1,
  kLogWarn = 2,
  kLogInfo = 3,
  kLogAbort = 4,
  kLogTrace = 5,
};

/// ncclDebugLogSubSys: bits of the logger's `flags`.
enum LogSubsystem : uint32_t {
  kLogInit = 0x1,
  kLogCollective = 0x2,
  kLogNet = 0x10,
  kLogGraph = 0x20,
  kLogTuning = 0x40,
  kLogEnv = 0x80,
  kLogProfile = 0x4000,
  kLogAll = 0xffffffffu,
};

/// ncclDebugLogger_t, handed to a plugin's init: writes one printf-formatted line through NCCL's
/// own log (NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE apply). May be called from any thread.
using Logger = void (*)(LogLevel level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

}  // namespace braid::abi
