// The examples' results computed plainly: one rank, double precision, no GPU library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace braid::testing {

struct ReferenceOptions {
  int hidden = 32;
  int ffn = 64;
  int tokens = 32;
  int layers = 2;
  int steps = 2;
  int experts = 8;
  uint64_t seed = 1;
  float learning_rate = 0.01F;
};

/// Row-major.
using Matrix = std::vector<double>;

struct MlpResults {
  Matrix output;           // of the last step, tokens × hidden
  Matrix input_gradient;   // of the last step
  std::vector<Matrix> w1;  // after the last step, hidden × ffn
  std::vector<Matrix> w2;  // ffn × hidden
};

/// Trains the residual MLP of tp_mlp and dp_mlp.
MlpResults train_reference_mlp(const ReferenceOptions& options);

/// The last step's output of moe_a2a.
Matrix run_reference_experts(const ReferenceOptions& options);

}  // namespace braid::testing
