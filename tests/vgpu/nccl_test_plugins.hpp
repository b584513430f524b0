// What the test plugins write down and what they are told to do.
#pragma once

#include <atomic>
#include <cstddef>

namespace braid::vgpu::nccl::testing {

/// Of nccl_test_tuner; the symbol test_tuner_record.
struct TunerRecord {
  std::atomic<int> inits, finalizes, asks;
  std::atomic<size_t> ranks, nodes, bytes;
  std::atomic<int> function;
  std::atomic<float> ring_simple_us, pat_us;
  std::atomic<double> base_latency_ring_simple;
};

/// The symbol test_tuner_orders.
struct TunerOrders {
  int result = 0;
  int algorithm = -1, protocol = -1;  // entry that is set to zero
  int channels = 0;
  double added_base_latency = 0;
};

/// Of nccl_test_profiler; the symbol test_profiler_record.
struct ProfilerRecord {
  std::atomic<int> inits, finalizes, starts, stops;
  std::atomic<int> collectives, messages, collective_apis, message_apis, launches;
  std::atomic<int> kernel_channels, kernel_stops, channels_of_collective;
};

/// Of nccl_old_profiler_v1 to _v4; the symbol test_old_profiler.
struct OldProfilerRecord {
  size_t count;
  char function[32], algorithm[32], name[32];
  bool has_group;
};

}  // namespace braid::vgpu::nccl::testing
