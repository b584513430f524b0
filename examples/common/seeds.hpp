// Seeds of the different random tensors of a run.
#pragma once

#include <cstdint>

namespace examples {

enum class TensorKind : uint64_t {
  kInput = 1,
  kTarget = 2,
  kWeight1 = 3,
  kWeight2 = 4,
  kRoute = 5
};

/// `number`: the step of inputs, targets and routes; the layer or expert of weights.
inline uint64_t seed_of(uint64_t run_seed, TensorKind kind, uint64_t number) {
  return run_seed * 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(kind) * 0x100000000ULL + number;
}

}  // namespace examples
