#include "model/closed_form.hpp"

#include <algorithm>
#include <cmath>

namespace braid::model {
namespace {

constexpr double kTie = 0.02;  // a larger n must win by more than this

double compute_part(const PipelineCosts& costs, double parts) {
  return costs.compute_fixed + costs.compute / parts;
}

double transfer_part(const PipelineCosts& costs, double parts) {
  return costs.transfer_fixed + costs.transfer / parts;
}

/// √(hidden total / fixed cost a part of the dominant stage), inside [1, most]. No fixed cost:
/// most.
double stage_optimum(double hidden, double fixed, double most) {
  if (fixed <= 0) {
    return hidden > 0 ? most : 1.0;
  }
  return std::clamp(std::sqrt(hidden / fixed), 1.0, most);
}

uint64_t divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

uint64_t waves_a_part(const WaveShape& shape, uint64_t parts) {
  const uint64_t row_tiles = divide_up(divide_up(shape.m, parts), shape.tile_m);
  const uint64_t tiles = row_tiles * divide_up(shape.n, shape.tile_n);
  return divide_up(tiles, static_cast<uint64_t>(std::max(1, shape.sms)));
}

}  // namespace

double pipeline_time(const PipelineCosts& costs, int parts) {
  const double compute = compute_part(costs, parts);
  const double transfer = transfer_part(costs, parts);
  return compute + transfer + (parts - 1) * std::max(compute, transfer);
}

int best_parts(const PipelineCosts& costs, int max_parts) {
  const double most = std::max(1, max_parts);
  // T = max(T_comp, T_comm) of two convex functions, so the least is at the minimum of the one that
  // dominates there, or where they cross.
  const double compute_bound = stage_optimum(costs.transfer, costs.compute_fixed, most);
  const double transfer_bound = stage_optimum(costs.compute, costs.transfer_fixed, most);
  double optimum = 1.0;
  if (compute_part(costs, compute_bound) >= transfer_part(costs, compute_bound)) {
    optimum = compute_bound;
  } else if (transfer_part(costs, transfer_bound) >= compute_part(costs, transfer_bound)) {
    optimum = transfer_bound;
  } else {
    optimum = (costs.transfer - costs.compute) / (costs.compute_fixed - costs.transfer_fixed);
  }
  optimum = std::isfinite(optimum) ? std::clamp(optimum, 1.0, most) : 1.0;
  const int below = static_cast<int>(std::floor(optimum));
  const int above = std::min(static_cast<int>(std::ceil(optimum)), static_cast<int>(most));
  return pipeline_time(costs, above) < pipeline_time(costs, below) ? above : below;
}

double wave_compute_time(const WaveShape& shape, int parts, double fixed_us) {
  const uint64_t n = static_cast<uint64_t>(std::max(1, parts));
  return static_cast<double>(n) *
         (fixed_us + static_cast<double>(waves_a_part(shape, n)) * shape.tile_us);
}

int best_parts_with_waves(const WaveShape& shape, double compute_fixed_us, double transfer_us,
                          double transfer_fixed_us, int max_parts) {
  const auto time = [&](int parts) {
    const double compute = wave_compute_time(shape, parts, compute_fixed_us) / parts;
    const double transfer = transfer_fixed_us + transfer_us / parts;
    return compute + transfer + (parts - 1) * std::max(compute, transfer);
  };
  const uint64_t row_tiles = divide_up(std::max<uint64_t>(1, shape.m), shape.tile_m);
  const int most = static_cast<int>(std::min<uint64_t>(std::max(1, max_parts), row_tiles));
  double least = time(1);
  for (int parts = 2; parts <= most; ++parts) {
    least = std::min(least, time(parts));
  }
  for (int parts = 1; parts < most; ++parts) {
    if (time(parts) <= least * (1 + kTie)) {
      return parts;
    }
  }
  return most;
}

}  // namespace braid::model
