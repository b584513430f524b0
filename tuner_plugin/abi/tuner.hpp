// NCCL's tuner plugin interface, versions 2 to 6.
//
// A plugin exports one data object per version it speaks, named by kTunerSymbolV2…V6. NCCL looks
// for the newest version it knows and takes the first it finds:
//   v2 since 2.21, v3 since 2.22, v4 since 2.24, v5 since 2.28, v6 since 2.30.
// From v3 on a cost table is handed in and out instead of one choice; v4 adds whether buffers are
// registered; v5 adds the communicator's id and the cost model's constants; v6 the chunk size.
#pragma once

#include "tuner_plugin/abi/common.hpp"

namespace braid::abi {

/// Rows of the cost table.
enum TunerAlgorithm : int32_t {
  kAlgorithmUndefined = -1,
  kAlgorithmTree = 0,
  kAlgorithmRing = 1,
  kAlgorithmCollNetDirect = 2,
  kAlgorithmCollNetChain = 3,
  kAlgorithmNvls = 4,
  kAlgorithmNvlsTree = 5,
  kAlgorithmPat = 6,
};
inline constexpr int kAlgorithmCount = 7;

/// Columns of the cost table.
enum TunerProtocol : int32_t {
  kProtocolUndefined = -1,
  kProtocolLl = 0,
  kProtocolLl128 = 1,
  kProtocolSimple = 2,
};
inline constexpr int kProtocolCount = 3;

/// Cost of an entry that NCCL must not run: unsupported here, or excluded by NCCL_ALGO or
/// NCCL_PROTO.
inline constexpr float kCostIgnored = -1.0f;

inline constexpr const char* kTunerSymbolV2 = "ncclTunerPlugin_v2";
inline constexpr const char* kTunerSymbolV3 = "ncclTunerPlugin_v3";
inline constexpr const char* kTunerSymbolV4 = "ncclTunerPlugin_v4";
inline constexpr const char* kTunerSymbolV5 = "ncclTunerPlugin_v5";
inline constexpr const char* kTunerSymbolV6 = "ncclTunerPlugin_v6";

/// NVLink domains of the communicator (v5, v6).
struct TunerNvlDomainInfo {
  int32_t domains;
  int32_t min_ranks_per_domain;
  int32_t max_ranks_per_domain;
};
static_assert(sizeof(TunerNvlDomainInfo) == 12);

inline constexpr int kHardwareLinkCount = 3;       // 0 NVLink, 1 PCI, 2 network
inline constexpr int kComputeCapabilityCount = 4;  // 0 Volta, 1 Ampere, 2 Hopper, 3 Blackwell
inline constexpr int kTuningScaleCount = 3;        // 0: one node, 1: two, 2: four or more

/// Constants of NCCL's cost model (v5, v6): microseconds and GB/s. NCCL fills in its defaults,
/// calls init, and computes the model from what it finds afterwards.
struct TunerConstants {
  double base_latencies[kAlgorithmCount][kProtocolCount];
  double hardware_latencies[kHardwareLinkCount][kAlgorithmCount][kProtocolCount];
  double ll_max_bandwidths[kComputeCapabilityCount][kTuningScaleCount];
  double channel_max_ring_ll128_bandwidths[kComputeCapabilityCount][kTuningScaleCount];
  double channel_max_tree_ll128_bandwidths[kComputeCapabilityCount][kTuningScaleCount];
  double channel_max_tree_bandwidths[kComputeCapabilityCount][kTuningScaleCount];
  double channel_max_nvls_tree_bandwidths[kComputeCapabilityCount][kTuningScaleCount];
};
static_assert(sizeof(TunerConstants) == (21 + 63 + 5 * 12) * sizeof(double));

/// Version 2: the plugin answers with one algorithm and protocol. Both outputs come in as undefined
/// (-1) and both or none must be set; `channels` comes in as 0 = NCCL decides.
struct TunerV2 {
  const char* name;
  Result (*init)(size_t ranks, size_t nodes, Logger logger, void** context);
  Result (*get_collective_info)(void* context, Function function, size_t bytes, int collnet_support,
                                int nvls_support, int grouped_operations, int* algorithm,
                                int* protocol, int* channels);
  Result (*destroy)(void* context);
};

/// Version 3: `cost_table` is really `float[algorithms][protocols]`, contiguous, passed by a cast
/// pointer. NCCL runs the entry with the smallest cost that is not negative; the plugin changes
/// costs.
struct TunerV3 {
  const char* name;
  Result (*init)(size_t ranks, size_t nodes, Logger logger, void** context);
  Result (*get_collective_info)(void* context, Function function, size_t bytes,
                                int grouped_operations, float** cost_table, int algorithms,
                                int protocols, int* channels);
  Result (*destroy)(void* context);
};

/// Version 4: `registered` is 1 where the user's buffers are registered. It may differ between
/// ranks, so a decision must not depend on it.
struct TunerV4 {
  const char* name;
  Result (*init)(size_t ranks, size_t nodes, Logger logger, void** context);
  Result (*get_collective_info)(void* context, Function function, size_t bytes,
                                int grouped_operations, float** cost_table, int algorithms,
                                int protocols, int registered, int* channels);
  Result (*destroy)(void* context);
};

/// Version 5: init is told the communicator and may change the model's constants.
struct TunerV5 {
  const char* name;
  Result (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, Logger logger,
                 TunerNvlDomainInfo* domains, TunerConstants* constants);
  Result (*get_collective_info)(void* context, Function function, size_t bytes,
                                int grouped_operations, float** cost_table, int algorithms,
                                int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
};

/// Version 6: as 5, with a chunk size that may be changed; `get_chunk_size` may be null.
struct TunerV6 {
  const char* name;
  Result (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, Logger logger,
                 TunerNvlDomainInfo* domains, TunerConstants* constants);
  Result (*get_collective_info)(void* context, Function function, size_t bytes,
                                int grouped_operations, float** cost_table, int algorithms,
                                int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
  Result (*get_chunk_size)(void* context, Function function, size_t bytes, int algorithm,
                           int protocol, int channels, size_t* chunk_bytes);
};

}  // namespace braid::abi
