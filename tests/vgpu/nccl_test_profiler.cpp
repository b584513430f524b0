// A profiler plugin (v5) that counts events.
#include "nccl_test_plugins.hpp"
#include "tuner_plugin/abi/profiler.hpp"

namespace abi = braid::abi;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED braid::vgpu::nccl::testing::ProfilerRecord test_profiler_record;
braid::vgpu::nccl::testing::ProfilerRecord test_profiler_record{};

namespace {

auto& record = test_profiler_record;

abi::Result init(void** context, uint64_t, int* mask, const char*, int, int, int, abi::Logger) {
  *context = &record;
  __atomic_store_n(mask, 0xfff, __ATOMIC_RELAXED);
  ++record.inits;
  return abi::kSuccess;
}

abi::Result start_event(void*, void** event, abi::ProfilerEventV5* descriptor) {
  *event = new int(0);
  ++record.starts;
  switch (descriptor->kind) {
    case abi::kEventCollective:
      ++record.collectives;
      record.channels_of_collective = descriptor->of.collective.channels;
      break;
    case abi::kEventPointToPoint:
      ++record.messages;
      break;
    case abi::kEventCollectiveApi:
      ++record.collective_apis;
      break;
    case abi::kEventPointToPointApi:
      ++record.message_apis;
      break;
    case abi::kEventKernelLaunch:
      ++record.launches;
      break;
    case abi::kEventKernelChannel:
      ++record.kernel_channels;
      break;
    default:
      break;
  }
  return abi::kSuccess;
}

abi::Result stop_event(void* event) {
  delete static_cast<int*>(event);
  ++record.stops;
  return abi::kSuccess;
}

abi::Result record_event_state(void*, abi::ProfilerEventState state,
                               abi::ProfilerStateArgumentsV4*) {
  if (state == abi::kStateKernelChannelStop) {
    ++record.kernel_stops;
  }
  return abi::kSuccess;
}

abi::Result finalize(void*) {
  ++record.finalizes;
  return abi::kSuccess;
}

}  // namespace

EXPORTED const abi::ProfilerV5 ncclProfiler_v5;
const abi::ProfilerV5 ncclProfiler_v5 = {
    "test", init, {start_event, stop_event, record_event_state, finalize}};
