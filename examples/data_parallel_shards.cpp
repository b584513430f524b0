// Sharded parameters: gathered one layer ahead of use, freed after it; gradients reduced and
// scattered layer by layer; each rank updates its shards.
#include <utility>

#include "common/check.hpp"
#include "common/kernels.hpp"
#include "data_parallel.hpp"

namespace examples {
namespace {

class ShardedTrainer final : public DataParallelTrainer {
 public:
  ShardedTrainer(const RankContext& context, const DataParallelOptions& options)
      : DataParallelTrainer(context, options),
        shard_elements_((layer_elements() + static_cast<size_t>(context.ranks) - 1) /
                        static_cast<size_t>(context.ranks)),
        gathered_elements_(shard_elements_ * static_cast<size_t>(context.ranks)) {
    const size_t shard_bytes = shard_elements_ * bytes_of(worker_.type);
    for (size_t i = 0; i < static_cast<size_t>(options.layers); ++i) {
      const Buffer whole = worker_.make_buffer(gathered_elements_);
      CUDA_CHECK(cudaMemsetAsync(whole.data(), 0, gathered_elements_ * bytes_of(worker_.type),
                                 context_.stream));
      fill_parameters(whole.data(), i);
      shards_.push_back(worker_.make_buffer(shard_elements_));
      const char* mine =
          static_cast<const char*>(whole.data()) + shard_bytes * static_cast<size_t>(context_.rank);
      CUDA_CHECK(cudaMemcpyAsync(shards_.back().data(), mine, shard_bytes, cudaMemcpyDeviceToDevice,
                                 context_.stream));
    }
  }

  void run_step(int step) override {
    const size_t layers = shards_.size();
    std::vector<Buffer> inputs(layers + 1);
    inputs[0] = make_batch(TensorKind::kInput, step);
    std::vector<MlpActivations> activations;
    Gathered next = start_gather(0);
    for (size_t i = 0; i < layers; ++i) {
      const Gathered current = std::move(next);
      if (i + 1 < layers) {
        next = start_gather(i + 1);
      }
      collectives_.wait(current.gathering);
      activations.push_back(forward(current.parameters.data(), inputs[i], &inputs[i + 1]));
    }
    Buffer gradient = loss_gradient(inputs.back(), step);
    output_ = std::move(inputs.back());

    next = start_gather(layers - 1);
    Reduction reduction;
    for (size_t i = layers; i-- > 0;) {
      const Gathered current = std::move(next);
      if (i > 0) {
        next = start_gather(i - 1);
      }
      collectives_.wait(current.gathering);
      Buffer whole = worker_.make_buffer(gathered_elements_);
      gradient =
          backward(current.parameters.data(), inputs[i], activations[i], gradient, whole.data());
      activations.pop_back();
      finish(std::move(reduction));
      reduction = start_reduction(i, std::move(whole));
    }
    finish(std::move(reduction));
  }

  std::vector<ResultPart> results() const override {
    std::vector<ResultPart> parts;
    for (const Buffer& shard : shards_) {
      parts.push_back({"shard", shard.data(), shard_elements_});
    }
    parts.push_back({"output", output_.data(), elements_});
    return parts;
  }

 private:
  struct Gathered {
    Buffer parameters;
    PendingCollective gathering;
  };
  struct Reduction {
    size_t layer = 0;
    Buffer whole;
    Buffer shard;
    PendingCollective scattering;
  };

  Gathered start_gather(size_t layer) {
    Buffer parameters = worker_.make_buffer(gathered_elements_);
    const PendingCollective gathering = collectives_.all_gather(
        shards_[layer].data(), parameters.data(), shard_elements_, worker_.type);
    return Gathered{std::move(parameters), gathering};
  }

  Reduction start_reduction(size_t layer, Buffer whole) {
    // The tail that pads the last shard was not written by the backward pass.
    const size_t padding = (gathered_elements_ - layer_elements()) * bytes_of(worker_.type);
    if (padding > 0) {
      char* tail = static_cast<char*>(whole.data()) + layer_elements() * bytes_of(worker_.type);
      CUDA_CHECK(cudaMemsetAsync(tail, 0, padding, context_.stream));
    }
    Buffer shard = worker_.make_buffer(shard_elements_);
    const PendingCollective scattering = collectives_.reduce_scatter(
        whole.data(), shard.data(), shard_elements_, worker_.type, ncclAvg);
    return Reduction{layer, std::move(whole), std::move(shard), scattering};
  }

  void finish(Reduction reduction) {
    if (reduction.shard.data() == nullptr) {
      return;
    }
    collectives_.wait(reduction.scattering);
    sgd_update(worker_.type, shards_[reduction.layer].data(), reduction.shard.data(),
               options_.learning_rate, shard_elements_, context_.stream);
  }

  size_t shard_elements_;
  size_t gathered_elements_;
  std::vector<Buffer> shards_;
};

}  // namespace

std::unique_ptr<DataParallelTrainer> make_sharded_trainer(const RankContext& context,
                                                          const DataParallelOptions& options) {
  return std::make_unique<ShardedTrainer>(context, options);
}

}  // namespace examples
