#include "data_parallel.hpp"

#include "common/kernels.hpp"

namespace examples {

DataParallelTrainer::DataParallelTrainer(const RankContext& context,
                                         const DataParallelOptions& options)
    : options_(options),
      context_(context),
      worker_{context, allocator_, options.type()},
      collectives_(context, {options.collective_stream == 0, options.grouped}),
      shape_{options.tokens / context.ranks, options.hidden, options.ffn},
      elements_(static_cast<size_t>(shape_.tokens) * static_cast<size_t>(options.hidden)) {}

Buffer DataParallelTrainer::make_batch(TensorKind kind, int step) {
  Buffer batch = worker_.make_buffer(elements_);
  const auto hidden = static_cast<size_t>(options_.hidden);
  const auto rows = static_cast<size_t>(shape_.tokens);
  fill(worker_.type, batch.data(),
       {rows, hidden, hidden, rows * static_cast<size_t>(context_.rank), 0},
       seed_of(options_.seed, kind, static_cast<uint64_t>(step)), 1.0F, context_.stream);
  return batch;
}

Buffer DataParallelTrainer::loss_gradient(const Buffer& output, int step) {
  const Buffer target = make_batch(TensorKind::kTarget, step);
  Buffer gradient = worker_.make_buffer(elements_);
  scaled_difference(worker_.type, gradient.data(), output.data(), target.data(),
                    1.0F / static_cast<float>(shape_.tokens), elements_, context_.stream);
  return gradient;
}

void DataParallelTrainer::fill_parameters(void* flat, size_t layer) {
  const auto hidden = static_cast<size_t>(options_.hidden);
  const auto ffn = static_cast<size_t>(options_.ffn);
  fill(worker_.type, flat, {hidden, ffn, ffn}, seed_of(options_.seed, TensorKind::kWeight1, layer),
       weight_scale(options_.hidden), context_.stream);
  fill(worker_.type, w2_of(flat), {ffn, hidden, hidden},
       seed_of(options_.seed, TensorKind::kWeight2, layer), weight_scale(options_.ffn),
       context_.stream);
}

const void* DataParallelTrainer::w2_of(const void* flat) const {
  return static_cast<const char*>(flat) + shape_.weight_elements() * bytes_of(worker_.type);
}

void* DataParallelTrainer::w2_of(void* flat) const {
  return static_cast<char*>(flat) + shape_.weight_elements() * bytes_of(worker_.type);
}

MlpActivations DataParallelTrainer::forward(const void* flat, const Buffer& input, Buffer* output) {
  const Buffer y = worker_.make_buffer(elements_);
  MlpActivations kept = mlp_forward(worker_, shape_, input.data(), flat, w2_of(flat), y.data());
  *output = worker_.make_buffer(elements_);
  add(worker_.type, output->data(), input.data(), y.data(), elements_, context_.stream);
  return kept;
}

Buffer DataParallelTrainer::backward(const void* flat, const Buffer& input,
                                     const MlpActivations& activations, const Buffer& gradient,
                                     void* flat_gradient) {
  const Buffer grad_hidden = mlp_backward_to_hidden(worker_, shape_, gradient.data(), activations,
                                                    w2_of(flat), w2_of(flat_gradient));
  mlp_backward_to_w1(worker_, shape_, input.data(), grad_hidden.data(), flat_gradient);
  const Buffer grad_input = worker_.make_buffer(elements_);
  mlp_backward_to_input(worker_, shape_, grad_hidden.data(), flat, grad_input.data());
  Buffer result = worker_.make_buffer(elements_);
  add(worker_.type, result.data(), gradient.data(), grad_input.data(), elements_, context_.stream);
  return result;
}

}  // namespace examples
