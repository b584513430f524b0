// Replicated parameters; gradients averaged bucket by bucket while the backward pass goes on.
#include <utility>

#include "common/kernels.hpp"
#include "data_parallel.hpp"

namespace examples {
namespace {

class BucketedTrainer final : public DataParallelTrainer {
 public:
  BucketedTrainer(const RankContext& context, const DataParallelOptions& options)
      : DataParallelTrainer(context, options) {
    const auto layers = static_cast<size_t>(options.layers);
    for (size_t i = 0; i < layers; ++i) {
      parameters_.push_back(worker_.make_buffer(layer_elements()));
      fill_parameters(parameters_.back().data(), i);
    }
    // Buckets are filled in the order in which the backward pass makes gradients: last layer first.
    const size_t limit = static_cast<size_t>(options.bucket_mib) << 20;
    const size_t layer_bytes = layer_elements() * bytes_of(worker_.type);
    const size_t layers_in_bucket = layer_bytes >= limit ? 1 : limit / layer_bytes;
    for (size_t last = layers; last > 0;) {
      const size_t first = last > layers_in_bucket ? last - layers_in_bucket : 0;
      buckets_.push_back({first, last});
      last = first;
    }
  }

  void run_step(int step) override {
    std::vector<Buffer> inputs(parameters_.size() + 1);
    inputs[0] = make_batch(TensorKind::kInput, step);
    std::vector<MlpActivations> activations;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      activations.push_back(forward(parameters_[i].data(), inputs[i], &inputs[i + 1]));
    }
    Buffer gradient = loss_gradient(inputs.back(), step);
    output_ = std::move(inputs.back());

    std::vector<std::pair<Buffer, PendingCollective>> reductions;
    for (const Bucket& bucket : buckets_) {
      const size_t elements = (bucket.last - bucket.first) * layer_elements();
      Buffer gradients = worker_.make_buffer(elements);
      for (size_t i = bucket.last; i-- > bucket.first;) {
        gradient = backward(parameters_[i].data(), inputs[i], activations[i], gradient,
                            layer_view(gradients, i - bucket.first));
        activations.pop_back();
      }
      const PendingCollective reduction = collectives_.all_reduce(
          gradients.data(), gradients.data(), elements, worker_.type, ncclAvg);
      reductions.emplace_back(std::move(gradients), reduction);
    }
    for (size_t b = 0; b < buckets_.size(); ++b) {
      collectives_.wait(reductions[b].second);
      for (size_t i = buckets_[b].first; i < buckets_[b].last; ++i) {
        sgd_update(worker_.type, parameters_[i].data(),
                   layer_view(reductions[b].first, i - buckets_[b].first), options_.learning_rate,
                   layer_elements(), context_.stream);
      }
    }
  }

  std::vector<ResultPart> results() const override {
    std::vector<ResultPart> parts;
    for (const Buffer& layer : parameters_) {
      parts.push_back({"parameters", layer.data(), layer_elements()});
    }
    parts.push_back({"output", output_.data(), elements_});
    return parts;
  }

 private:
  struct Bucket {
    size_t first;  // layers [first, last)
    size_t last;
  };

  void* layer_view(const Buffer& gradients, size_t position) const {
    return static_cast<char*>(gradients.data()) +
           position * layer_elements() * bytes_of(worker_.type);
  }

  std::vector<Buffer> parameters_;
  std::vector<Bucket> buckets_;
};

}  // namespace

std::unique_ptr<DataParallelTrainer> make_bucketed_trainer(const RankContext& context,
                                                           const DataParallelOptions& options) {
  return std::make_unique<BucketedTrainer>(context, options);
}

}  // namespace examples
