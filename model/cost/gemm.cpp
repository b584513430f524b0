#include "model/cost/gemm.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "model/cost/kernel.hpp"
#include "model/trace.hpp"

namespace braid::model {
namespace {

struct Tile {
  int m, n;
  double efficiency;  // of the GPU's sustained rate
};

// Tile sizes of the public GEMM libraries. The efficiencies are estimates: a tile loads
// k·(m + n) elements for 2·m·n·k operations, so smaller ones wait longer for shared memory and L2.
constexpr std::array kTensorTiles = {Tile{128, 256, 1.0}, Tile{256, 128, 1.0}, Tile{128, 128, 0.97},
                                     Tile{128, 64, 0.87}, Tile{64, 128, 0.87}, Tile{64, 64, 0.72},
                                     Tile{64, 32, 0.5},   Tile{32, 64, 0.5}};
constexpr std::array kVectorTiles = {Tile{128, 128, 1.0}, Tile{128, 64, 0.95}, Tile{64, 128, 0.95},
                                     Tile{64, 64, 0.85}, Tile{32, 32, 0.55}};

constexpr uint64_t kLeastKPerSplit = 512;
constexpr int kMostSplits = 16;
constexpr double kTileFillUs = 0.6;  // first loads and the last stores of a tile, not hidden

constexpr double kMostBlocks = 1e15;  // keeps counts of absurd shapes inside uint64_t

uint64_t divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

uint64_t tiles_of(const GemmShape& shape, const Tile& tile) {
  const double tiles = static_cast<double>(divide_up(shape.m, static_cast<uint64_t>(tile.m))) *
                       static_cast<double>(divide_up(shape.n, static_cast<uint64_t>(tile.n))) *
                       static_cast<double>(shape.batch);
  return static_cast<uint64_t>(std::min(tiles, kMostBlocks));
}

bool on_tensor_cores(const GpuModel& gpu, trace::ElementType type) {
  return gpu.peak_tflops(type) > gpu.fp32_tflops || type == trace::ElementType::kFp16 ||
         type == trace::ElementType::kBf16 || type == trace::ElementType::kTf32;
}

std::span<const Tile> tiles_for(const GpuModel& gpu, trace::ElementType type) {
  if (on_tensor_cores(gpu, type) && type != trace::ElementType::kFp64) {
    return kTensorTiles;
  }
  return kVectorTiles;
}

double memory_bytes(const GemmShape& shape) {
  const double a = static_cast<double>(shape.m) * static_cast<double>(shape.k);
  const double b = static_cast<double>(shape.k) * static_cast<double>(shape.n);
  const double c = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  return static_cast<double>(shape.batch) *
         ((a + b) * static_cast<double>(trace::bytes_of(shape.type)) +
          c * static_cast<double>(trace::bytes_of(shape.output_type)));
}

GemmCost cost_with(const GpuModel& gpu, const GemmShape& shape, const Tile& tile, int split,
                   int sm_limit) {
  GemmCost cost;
  cost.tile_m = tile.m;
  cost.tile_n = tile.n;
  cost.split_k = split;
  const uint64_t tiles = tiles_of(shape, tile);
  const double flops_a_us =
      gpu.peak_tflops(shape.type) * 1e6 / gpu.sm_count * gpu.sustained_fraction * tile.efficiency;
  const double k = static_cast<double>(divide_up(shape.k, static_cast<uint64_t>(split)));
  cost.compute.blocks = tiles * static_cast<uint64_t>(split);
  cost.compute.wave_us = 2.0 * tile.m * tile.n * k / flops_a_us + kTileFillUs;
  cost.compute.memory_us = memory_time_us(gpu, memory_bytes(shape));
  cost.compute.memory_sms = memory_saturating_sms(gpu);
  cost.compute.fixed_us = gpu.kernel_start_us;
  cost.compute.sm_limit = sm_limit;
  if (split > 1) {  // partial results in fp32, written and read once
    const double partial = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                           static_cast<double>(shape.batch) * 4.0 * split;
    cost.compute.fixed_us += gpu.kernel_start_us + memory_time_us(gpu, 2.0 * partial);
  }
  return cost;
}

}  // namespace

double flops_of(const GemmShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) * static_cast<double>(shape.batch);
}

GemmCost gemm_cost(const GpuModel& gpu, const GemmShape& asked, int sm_limit) {
  GemmShape shape = asked;
  shape.m = std::max<uint64_t>(1, shape.m);
  shape.n = std::max<uint64_t>(1, shape.n);
  shape.k = std::max<uint64_t>(1, shape.k);
  shape.batch = std::max<uint64_t>(1, shape.batch);
  const int sms = sm_limit > 0 ? std::min(sm_limit, gpu.sm_count) : gpu.sm_count;
  GemmCost best;
  double least = -1;
  for (const Tile& tile : tiles_for(gpu, shape.type)) {
    const uint64_t tiles = tiles_of(shape, tile);
    for (int split = 1; split <= kMostSplits; ++split) {
      const bool allowed = split == 1 || (tiles * split <= static_cast<uint64_t>(sms) &&
                                          shape.k / split >= kLeastKPerSplit);
      if (!allowed) {
        break;
      }
      const GemmCost cost = cost_with(gpu, shape, tile, split, sm_limit);
      const double time = cost.compute.time_us(cost.compute.useful_sms(sms));
      if (least < 0 || time < least) {
        least = time;
        best = cost;
      }
    }
  }
  return best;
}

}  // namespace braid::model
