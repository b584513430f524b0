// The arithmetic of one MLP layer, y = gelu(x·W1)·W2, without any communication. x is
// tokens×hidden, W1 hidden×ffn, W2 ffn×hidden; with tensor parallelism ffn is this rank's share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/caching_allocator.hpp"
#include "common/data_type.hpp"
#include "common/launcher.hpp"

namespace examples {

struct MlpShape {
  int tokens;
  int hidden;
  int ffn;
  size_t weight_elements() const { return static_cast<size_t>(hidden) * static_cast<size_t>(ffn); }
};

/// What the forward pass keeps for the backward pass.
struct MlpActivations {
  Buffer pre_gelu;
  Buffer post_gelu;
};

/// A rank's device, allocator and element type.
struct Worker {
  const RankContext& context;
  CachingAllocator& allocator;
  DataType type;

  Buffer make_buffer(size_t elements) const {
    return Buffer(allocator, elements * bytes_of(type), context.stream);
  }
};

/// The scale of initial weights with `fan_in` inputs: outputs keep the inputs' variance.
float weight_scale(int fan_in);

/// y = gelu(x·w1)·w2; the last call enqueued is the second GEMM.
MlpActivations mlp_forward(const Worker& worker, const MlpShape& shape, const void* x,
                           const void* w1, const void* w2, void* y);

/// Gradient of x·w1 (tokens×ffn); also writes the gradient of w2.
Buffer mlp_backward_to_hidden(const Worker& worker, const MlpShape& shape, const void* grad_y,
                              const MlpActivations& activations, const void* w2, void* grad_w2);

/// grad_x = grad_hidden·w1ᵀ
void mlp_backward_to_input(const Worker& worker, const MlpShape& shape, const void* grad_hidden,
                           const void* w1, void* grad_x);

/// grad_w1 = xᵀ·grad_hidden
void mlp_backward_to_w1(const Worker& worker, const MlpShape& shape, const void* x,
                        const void* grad_hidden, void* grad_w1);

}  // namespace examples
