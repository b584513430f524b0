// Tensor-parallel MLP training, partitioned as in Megatron-LM.
//
// W1 is split by columns and W2 by rows, so a layer needs one AllReduce in the forward pass (of the
// row-parallel GEMM's output) and one in the backward pass (of the input's gradient). With
// --sequence-parallel the tensors between layers are split by tokens instead, and AllGather and
// ReduceScatter take the AllReduces' place.
#include <string>
#include <utility>
#include <vector>

#include "common/check.hpp"
#include "common/collectives.hpp"
#include "common/kernels.hpp"
#include "common/mlp.hpp"
#include "common/results.hpp"
#include "common/seeds.hpp"

using namespace examples;

namespace {

struct Options : CommonOptions {
  bool sequence_parallel = false;
  bool grouped = false;
  int collective_stream = 0;  // own, compute
};

class TensorParallelMlp {
 public:
  TensorParallelMlp(const RankContext& context, const Options& options)
      : options_(options),
        context_(context),
        worker_{context, allocator_, options.type()},
        collectives_(context, {options.collective_stream == 0, options.grouped}),
        shape_{options.tokens, options.hidden, options.ffn / context.ranks},
        rows_(options.sequence_parallel ? options.tokens / context.ranks : options.tokens),
        full_elements_(static_cast<size_t>(options.tokens) * static_cast<size_t>(options.hidden)),
        elements_(static_cast<size_t>(rows_) * static_cast<size_t>(options.hidden)),
        layers_(static_cast<size_t>(options.layers)) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      initialise(layers_[i], i);
    }
  }

  void run_step(int step) {
    std::vector<Buffer> inputs(layers_.size() + 1);
    inputs[0] = make_batch(TensorKind::kInput, step);
    std::vector<MlpActivations> activations;
    for (size_t i = 0; i < layers_.size(); ++i) {
      inputs[i + 1] = worker_.make_buffer(elements_);
      activations.push_back(forward(layers_[i], inputs[i], inputs[i + 1]));
    }
    Buffer gradient = loss_gradient(inputs.back(), step);
    output_ = std::move(inputs.back());
    for (size_t i = layers_.size(); i-- > 0;) {
      gradient = backward(layers_[i], inputs[i], activations[i], gradient);
      activations.pop_back();
    }
    input_gradient_ = std::move(gradient);
    CUDA_CHECK(cudaStreamSynchronize(context_.stream));
  }

  std::vector<ResultPart> results() const {
    std::vector<ResultPart> parts = {{"output", output_.data(), elements_},
                                     {"input gradient", input_gradient_.data(), elements_}};
    for (const Layer& layer : layers_) {
      parts.push_back({"W1", layer.w1.data(), shape_.weight_elements()});
      parts.push_back({"W2", layer.w2.data(), shape_.weight_elements()});
    }
    return parts;
  }

 private:
  struct Layer {
    Buffer w1;  // hidden × ffn/ranks
    Buffer w2;  // ffn/ranks × hidden
  };

  void initialise(Layer& layer, size_t number) {
    const auto hidden = static_cast<size_t>(options_.hidden);
    const auto share = static_cast<size_t>(shape_.ffn);
    const size_t first = share * static_cast<size_t>(context_.rank);
    layer.w1 = worker_.make_buffer(shape_.weight_elements());
    layer.w2 = worker_.make_buffer(shape_.weight_elements());
    fill(worker_.type, layer.w1.data(),
         {hidden, share, static_cast<size_t>(options_.ffn), 0, first},
         seed_of(options_.seed, TensorKind::kWeight1, number), weight_scale(options_.hidden),
         context_.stream);
    fill(worker_.type, layer.w2.data(), {share, hidden, hidden, first, 0},
         seed_of(options_.seed, TensorKind::kWeight2, number), weight_scale(options_.ffn),
         context_.stream);
  }

  /// This rank's rows of the step's inputs or targets: all of them, or its part of the sequence.
  Buffer make_batch(TensorKind kind, int step) {
    Buffer batch = worker_.make_buffer(elements_);
    const auto hidden = static_cast<size_t>(options_.hidden);
    const auto rows = static_cast<size_t>(rows_);
    const size_t first = options_.sequence_parallel ? rows * static_cast<size_t>(context_.rank) : 0;
    fill(worker_.type, batch.data(), {rows, hidden, hidden, first, 0},
         seed_of(options_.seed, kind, static_cast<uint64_t>(step)), 1.0F, context_.stream);
    return batch;
  }

  Buffer loss_gradient(const Buffer& output, int step) {
    const Buffer target = make_batch(TensorKind::kTarget, step);
    Buffer gradient = worker_.make_buffer(elements_);
    scaled_difference(worker_.type, gradient.data(), output.data(), target.data(),
                      1.0F / static_cast<float>(options_.tokens), elements_, context_.stream);
    return gradient;
  }

  /// output = input + MLP(input)
  MlpActivations forward(const Layer& layer, const Buffer& input, const Buffer& output) {
    const Buffer partial = worker_.make_buffer(full_elements_);
    if (!options_.sequence_parallel) {
      MlpActivations kept = mlp_forward(worker_, shape_, input.data(), layer.w1.data(),
                                        layer.w2.data(), partial.data());
      collectives_.wait(
          collectives_.all_reduce(partial.data(), partial.data(), full_elements_, worker_.type));
      add(worker_.type, output.data(), input.data(), partial.data(), elements_, context_.stream);
      return kept;
    }
    const Buffer gathered = worker_.make_buffer(full_elements_);
    collectives_.wait(
        collectives_.all_gather(input.data(), gathered.data(), elements_, worker_.type));
    MlpActivations kept = mlp_forward(worker_, shape_, gathered.data(), layer.w1.data(),
                                      layer.w2.data(), partial.data());
    const Buffer reduced = worker_.make_buffer(elements_);
    collectives_.wait(
        collectives_.reduce_scatter(partial.data(), reduced.data(), elements_, worker_.type));
    add(worker_.type, output.data(), input.data(), reduced.data(), elements_, context_.stream);
    return kept;
  }

  /// The gradient of the layer's input; updates the layer's weights.
  Buffer backward(Layer& layer, const Buffer& input, const MlpActivations& activations,
                  const Buffer& gradient) {
    const Buffer grad_w1 = worker_.make_buffer(shape_.weight_elements());
    const Buffer grad_w2 = worker_.make_buffer(shape_.weight_elements());
    Buffer result =
        options_.sequence_parallel
            ? backward_by_sequence(layer, input, activations, gradient, grad_w1, grad_w2)
            : backward_in_full(layer, input, activations, gradient, grad_w1, grad_w2);
    sgd_update(worker_.type, layer.w1.data(), grad_w1.data(), options_.learning_rate,
               shape_.weight_elements(), context_.stream);
    sgd_update(worker_.type, layer.w2.data(), grad_w2.data(), options_.learning_rate,
               shape_.weight_elements(), context_.stream);
    return result;
  }

  Buffer backward_in_full(const Layer& layer, const Buffer& input,
                          const MlpActivations& activations, const Buffer& gradient,
                          const Buffer& grad_w1, const Buffer& grad_w2) {
    const Buffer grad_hidden = mlp_backward_to_hidden(worker_, shape_, gradient.data(), activations,
                                                      layer.w2.data(), grad_w2.data());
    const Buffer grad_input = worker_.make_buffer(full_elements_);
    mlp_backward_to_input(worker_, shape_, grad_hidden.data(), layer.w1.data(), grad_input.data());
    const PendingCollective reduction =
        collectives_.all_reduce(grad_input.data(), grad_input.data(), full_elements_, worker_.type);
    // The weight's gradient is computed while the reduction runs.
    mlp_backward_to_w1(worker_, shape_, input.data(), grad_hidden.data(), grad_w1.data());
    collectives_.wait(reduction);
    Buffer result = worker_.make_buffer(elements_);
    add(worker_.type, result.data(), gradient.data(), grad_input.data(), elements_,
        context_.stream);
    return result;
  }

  Buffer backward_by_sequence(const Layer& layer, const Buffer& input,
                              const MlpActivations& activations, const Buffer& gradient,
                              const Buffer& grad_w1, const Buffer& grad_w2) {
    const Buffer full_gradient = worker_.make_buffer(full_elements_);
    collectives_.wait(
        collectives_.all_gather(gradient.data(), full_gradient.data(), elements_, worker_.type));
    const Buffer grad_hidden = mlp_backward_to_hidden(worker_, shape_, full_gradient.data(),
                                                      activations, layer.w2.data(), grad_w2.data());
    // The whole input was not kept; it is gathered again while its gradient is computed.
    const Buffer full_input = worker_.make_buffer(full_elements_);
    const PendingCollective gathering =
        collectives_.all_gather(input.data(), full_input.data(), elements_, worker_.type);
    const Buffer grad_input = worker_.make_buffer(full_elements_);
    mlp_backward_to_input(worker_, shape_, grad_hidden.data(), layer.w1.data(), grad_input.data());
    collectives_.wait(gathering);
    const Buffer reduced = worker_.make_buffer(elements_);
    const PendingCollective reduction =
        collectives_.reduce_scatter(grad_input.data(), reduced.data(), elements_, worker_.type);
    mlp_backward_to_w1(worker_, shape_, full_input.data(), grad_hidden.data(), grad_w1.data());
    collectives_.wait(reduction);
    Buffer result = worker_.make_buffer(elements_);
    add(worker_.type, result.data(), gradient.data(), reduced.data(), elements_, context_.stream);
    return result;
  }

  const Options& options_;
  const RankContext& context_;
  CachingAllocator allocator_;
  Worker worker_;
  Collectives collectives_;
  MlpShape shape_;
  int rows_;              // of the tensors between layers
  size_t full_elements_;  // tokens × hidden
  size_t elements_;       // rows × hidden
  std::vector<Layer> layers_;
  Buffer output_;
  Buffer input_gradient_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  FlagParser parser("tp_mlp",
                    "Tensor-parallel MLP training (Megatron's column- and row-parallel).");
  add_common_flags(parser, options);
  parser.add_switch("--sequence-parallel", &options.sequence_parallel,
                    "split the tensors between layers by tokens");
  parser.add_choice("--collective-stream", &options.collective_stream, {"own", "compute"},
                    "stream of the collectives");
  parser.add_switch("--group", &options.grouped, "put each collective in a group of one");
  parser.parse(argc, argv);
  finish_common_flags(parser, options);
  const int ranks = world_size(options);
  if (options.ffn % ranks != 0) {
    parser.refuse("--ffn must be a multiple of the " + std::to_string(ranks) + " ranks");
  }
  if (options.sequence_parallel && options.tokens % ranks != 0) {
    parser.refuse("--tokens must be a multiple of the " + std::to_string(ranks) + " ranks");
  }

  run_ranks(options, [&](RankContext& context) {
    TensorParallelMlp model(context, options);
    for (int step = 0; step < options.total_steps(); ++step) {
      model.run_step(step);
    }
    report_results(context, options.type(), model.results(), options.dump_path);
  });
  return 0;
}
