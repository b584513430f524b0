// Time of a GEMM and a collective that are cut into parts and overlap.
// Source of the recurrences: seeds_digest §1.2 (Compass ODP-InterDecom, FSMoE tables).
#pragma once

#include <cstdint>
#include <vector>

#include "model/cost/collective_curve.hpp"
#include "model/cost/gemm.hpp"
#include "model/gpu.hpp"

namespace braid::model {

enum class PairOrder : uint8_t { kGemmFirst, kCommFirst };

/// What a pair costs to run; pointers must outlive the calls.
struct PairCosts {
  PairOrder order = PairOrder::kGemmFirst;
  GemmShape gemm;  // one rank's row-major GEMM; its rows are cut
  const GpuModel* gpu = nullptr;
  const CollectiveCurve* curve = nullptr;
  uint64_t bytes = 0;              // nccl-tests' size of the whole collective
  double staging_us_per_byte = 0;  // copies that parts need and the whole does not (digest §1.3)
  int hardware_queues = 8;         // CUDA_DEVICE_MAX_CONNECTIONS
  // Contention factors κ while both run; 1: SM theft alone (channels ↔ SMs) slows the GEMM.
  double compute_contention = 1, transfer_contention = 1;
  // Measured GEMM times by (rows, parts) win over the model where they exist.
  const std::vector<struct GemmMeasurement>* measured_gemms = nullptr;
};

/// Time from the first start to the last end, in µs, with rows cut at `boundaries` (0 first, gemm.m
/// last, strictly growing; two entries: serial). Each part's GEMM by tiles and waves on the SMs the
/// collective's channels leave while one runs; sub-collectives one after another; one launch each,
/// host time included where it binds.
double pair_time_us(const PairCosts& costs, const std::vector<uint64_t>& boundaries);

}  // namespace braid::model
