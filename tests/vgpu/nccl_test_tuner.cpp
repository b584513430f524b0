// A tuner plugin (v5) that writes down what it is asked and answers as ordered.
#include "nccl_test_plugins.hpp"
#include "tuner_plugin/abi/tuner.hpp"

namespace abi = braid::abi;
namespace testing_plugins = braid::vgpu::nccl::testing;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED testing_plugins::TunerRecord test_tuner_record;
testing_plugins::TunerRecord test_tuner_record{};
EXPORTED testing_plugins::TunerOrders test_tuner_orders;
testing_plugins::TunerOrders test_tuner_orders{};

namespace {

abi::Result init(void** context, uint64_t, size_t ranks, size_t nodes, abi::Logger,
                 abi::TunerNvlDomainInfo*, abi::TunerConstants* constants) {
  *context = &test_tuner_record;
  ++test_tuner_record.inits;
  test_tuner_record.ranks = ranks;
  test_tuner_record.nodes = nodes;
  double& latency = constants->base_latencies[abi::kAlgorithmRing][abi::kProtocolSimple];
  test_tuner_record.base_latency_ring_simple = latency;
  latency += test_tuner_orders.added_base_latency;
  return abi::kSuccess;
}

abi::Result get_collective_info(void*, abi::Function function, size_t bytes, int,
                                float** cost_table, int, int protocols, int, int* channels) {
  ++test_tuner_record.asks;
  test_tuner_record.function = function;
  test_tuner_record.bytes = bytes;
  auto* table = reinterpret_cast<float*>(cost_table);
  test_tuner_record.ring_simple_us = table[abi::kAlgorithmRing * protocols + abi::kProtocolSimple];
  test_tuner_record.pat_us = table[abi::kAlgorithmPat * protocols + abi::kProtocolSimple];
  const auto& orders = test_tuner_orders;
  if (orders.algorithm >= 0) {
    table[orders.algorithm * protocols + orders.protocol] = 0;
  }
  if (orders.channels != 0) {
    *channels = orders.channels;
  }
  return static_cast<abi::Result>(orders.result);
}

abi::Result finalize(void*) {
  ++test_tuner_record.finalizes;
  return abi::kSuccess;
}

}  // namespace

EXPORTED const abi::TunerV5 ncclTunerPlugin_v5;
const abi::TunerV5 ncclTunerPlugin_v5 = {"test", init, get_collective_info, finalize};
