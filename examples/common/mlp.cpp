#include "common/mlp.hpp"

#include <cmath>

#include "common/gemm.hpp"
#include "common/kernels.hpp"

namespace examples {
namespace {

size_t inner_elements(const MlpShape& shape) {
  return static_cast<size_t>(shape.tokens) * static_cast<size_t>(shape.ffn);
}

}  // namespace

float weight_scale(int fan_in) { return std::sqrt(3.0F / static_cast<float>(fan_in)); }

MlpActivations mlp_forward(const Worker& worker, const MlpShape& shape, const void* x,
                           const void* w1, const void* w2, void* y) {
  const size_t inner = inner_elements(shape);
  MlpActivations kept{worker.make_buffer(inner), worker.make_buffer(inner)};
  gemm(worker.context.cublas, worker.type, Transpose::kNo, Transpose::kNo, shape.tokens, shape.ffn,
       shape.hidden, x, w1, kept.pre_gelu.data());
  gelu_forward(worker.type, kept.post_gelu.data(), kept.pre_gelu.data(), inner,
               worker.context.stream);
  gemm(worker.context.cublas, worker.type, Transpose::kNo, Transpose::kNo, shape.tokens,
       shape.hidden, shape.ffn, kept.post_gelu.data(), w2, y);
  return kept;
}

Buffer mlp_backward_to_hidden(const Worker& worker, const MlpShape& shape, const void* grad_y,
                              const MlpActivations& activations, const void* w2, void* grad_w2) {
  const size_t inner = inner_elements(shape);
  const Buffer grad_post_gelu = worker.make_buffer(inner);
  gemm(worker.context.cublas, worker.type, Transpose::kNo, Transpose::kYes, shape.tokens, shape.ffn,
       shape.hidden, grad_y, w2, grad_post_gelu.data());
  gemm(worker.context.cublas, worker.type, Transpose::kYes, Transpose::kNo, shape.ffn, shape.hidden,
       shape.tokens, activations.post_gelu.data(), grad_y, grad_w2);
  Buffer grad_hidden = worker.make_buffer(inner);
  gelu_backward(worker.type, grad_hidden.data(), grad_post_gelu.data(), activations.pre_gelu.data(),
                inner, worker.context.stream);
  return grad_hidden;
}

void mlp_backward_to_input(const Worker& worker, const MlpShape& shape, const void* grad_hidden,
                           const void* w1, void* grad_x) {
  gemm(worker.context.cublas, worker.type, Transpose::kNo, Transpose::kYes, shape.tokens,
       shape.hidden, shape.ffn, grad_hidden, w1, grad_x);
}

void mlp_backward_to_w1(const Worker& worker, const MlpShape& shape, const void* x,
                        const void* grad_hidden, void* grad_w1) {
  gemm(worker.context.cublas, worker.type, Transpose::kYes, Transpose::kNo, shape.hidden, shape.ffn,
       shape.tokens, x, grad_hidden, grad_w1);
}

}  // namespace examples
