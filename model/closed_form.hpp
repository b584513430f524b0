// The best number of parts for a GEMM and the collective it feeds (or is fed by).
// Source: seeds_digest §1.2: T(n) = c + m + (n-1)·max(c, m), c = γ + C0/n, m = α + M0/n.
#pragma once

#include <cstdint>

namespace braid::model {

/// Times in µs. compute = C0 (the whole GEMM without its fixed cost), compute_fixed = γ (one
/// launch), transfer = M0, transfer_fixed = α.
struct PipelineCosts {
  double compute = 0, compute_fixed = 0;
  double transfer = 0, transfer_fixed = 0;
};

/// T(n) of n equal parts.
double pipeline_time(const PipelineCosts& costs, int parts);

/// The n in 1..max_parts with the least T(n), by the closed form; equals brute force.
int best_parts(const PipelineCosts& costs, int max_parts = 64);

/// GEMM tiling that decides waves.
struct WaveShape {
  uint64_t m = 0, n = 0, k = 0;
  int tile_m = 128, tile_n = 128;
  int sms = 0;         // left for the GEMM
  double tile_us = 0;  // time of one wave (all K)
};

/// Time of the GEMM cut into n equal row blocks (cut at multiples of tile_m where possible): waves
/// ⌈⌈M/(n·T_m)⌉·⌈N/T_n⌉/SM⌉ each, plus the fixed cost.
double wave_compute_time(const WaveShape& shape, int parts, double fixed_us);

/// Best n when each part's GEMM time follows from waves; ties within 2% go to the smaller n.
int best_parts_with_waves(const WaveShape& shape, double compute_fixed_us, double transfer_us,
                          double transfer_fixed_us, int max_parts = 64);

}  // namespace braid::model
