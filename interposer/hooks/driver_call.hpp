// One driver call as a CUPTI callback shows it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "interposer/hooks/observe.hpp"

namespace braid::interposer {

enum class DriverCallKind {
  kOtherWork,
  kUnknownWork,
  kKernel,
  kCopy,
  kHostFunction,
  kEventRecord,
  kWait,
  kWaitValue,
  kWriteValue,
  kSynchronizeStream,
  kSynchronizeEvent,
  kSynchronizeDevice,
  kStreamDestroyed,
  kEventDestroyed,
};

struct DriverCall {
  DriverCallKind kind = DriverCallKind::kUnknownWork;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  uint64_t bytes = 0;
  uint64_t address = 0;
  uint64_t value = 0;
  unsigned flags = 0;
  bool asynchronous = false;
  model::trace::CopyKind copy{};
  LaunchShape shape;
};

/// The callback ids to subscribe to (generated).
extern const uint32_t kListenedCallbacks[];
extern const size_t kListenedCallbackCount;

/// Reads a call's parameters (generated). False: not one of ours.
bool read_driver_call(uint32_t id, const void* params, DriverCall* call);

}  // namespace braid::interposer
