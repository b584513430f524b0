// A profiler plugin of an older version (PROFILER_VERSION 1 to 4). It copies what it is told of the
// last collective into test_old_profiler.
#include <cstdio>
#include <cstring>

#include "nccl_test_plugins.hpp"
#include "tuner_plugin/abi/profiler.hpp"

namespace abi = braid::abi;

extern "C" __attribute__((visibility("default")))
braid::vgpu::nccl::testing::OldProfilerRecord test_old_profiler;
braid::vgpu::nccl::testing::OldProfilerRecord test_old_profiler{};

#define JOIN_OF(a, b) a##b
#define JOIN(a, b) JOIN_OF(a, b)
using Table = JOIN(abi::ProfilerV, PROFILER_VERSION);
using Event = JOIN(abi::ProfilerEventV, PROFILER_VERSION);

namespace {

#if PROFILER_VERSION == 4
using Arguments = abi::ProfilerStateArgumentsV4;
abi::Result init(void** context, int* mask, const char* name, uint64_t, int, int, int rank,
                 abi::Logger) {
  if (rank == 0) {
    std::snprintf(test_old_profiler.name, sizeof(test_old_profiler.name), "%s", name);
  }
#else
using Arguments = abi::ProfilerStateArgumentsV1;
abi::Result init(void** context, int* mask) {
#endif
  *context = &test_old_profiler;
  __atomic_store_n(mask, abi::kEventGroup | abi::kEventCollective, __ATOMIC_RELAXED);
  return abi::kSuccess;
}

abi::Result start_event(void*, void** event, Event* descriptor) {
  *event = descriptor;
  if (descriptor->kind == abi::kEventCollective && descriptor->rank == 0) {
    const auto& collective = descriptor->of.collective;
    auto& record = test_old_profiler;
    record.count = collective.count;
#if PROFILER_VERSION == 1
    std::snprintf(record.function, sizeof(record.function), "%d", collective.function);
    std::snprintf(record.algorithm, sizeof(record.algorithm), "%d", collective.algorithm);
#else
    std::snprintf(record.function, sizeof(record.function), "%s", collective.function);
    std::snprintf(record.algorithm, sizeof(record.algorithm), "%s", collective.algorithm);
#endif
    record.has_group = descriptor->parent != nullptr;
  }
  return abi::kSuccess;
}

abi::Result stop_event(void*) { return abi::kSuccess; }
abi::Result record_event_state(void*, abi::ProfilerEventState, Arguments*) { return abi::kSuccess; }
abi::Result finalize(void*) { return abi::kSuccess; }

}  // namespace

extern "C" __attribute__((visibility("default")))
const Table JOIN(ncclProfiler_v, PROFILER_VERSION);
const Table JOIN(ncclProfiler_v, PROFILER_VERSION) = {
    "old", init, {start_event, stop_event, record_event_state, finalize}};
