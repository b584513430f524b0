// What the two forms of data-parallel training share.
#pragma once

#include <memory>
#include <vector>

#include "common/collectives.hpp"
#include "common/mlp.hpp"
#include "common/results.hpp"
#include "common/seeds.hpp"

namespace examples {

struct DataParallelOptions : CommonOptions {
  bool shard = false;
  bool grouped = false;
  int bucket_mib = 25;
  int collective_stream = 0;  // own, compute
};

class DataParallelTrainer {
 public:
  DataParallelTrainer(const RankContext& context, const DataParallelOptions& options);
  virtual ~DataParallelTrainer() = default;
  virtual void run_step(int step) = 0;
  /// The parameters this rank holds, then its output of the last step.
  virtual std::vector<ResultPart> results() const = 0;

 protected:
  /// This rank's rows of the step's inputs or targets.
  Buffer make_batch(TensorKind kind, int step);
  /// Gradient of half the mean squared error over this rank's tokens.
  Buffer loss_gradient(const Buffer& output, int step);
  /// A layer's parameters lie in one flat buffer, W1 then W2.
  void fill_parameters(void* flat, size_t layer);
  const void* w2_of(const void* flat) const;
  void* w2_of(void* flat) const;
  /// output = input + MLP(input)
  MlpActivations forward(const void* flat, const Buffer& input, Buffer* output);
  /// The input's gradient; writes the layer's flat gradient.
  Buffer backward(const void* flat, const Buffer& input, const MlpActivations& activations,
                  const Buffer& gradient, void* flat_gradient);

  size_t layer_elements() const { return 2 * shape_.weight_elements(); }

  const DataParallelOptions& options_;
  const RankContext& context_;
  CachingAllocator allocator_;
  Worker worker_;
  Collectives collectives_;
  MlpShape shape_;   // tokens: this rank's
  size_t elements_;  // tokens × hidden
  Buffer output_;
};

std::unique_ptr<DataParallelTrainer> make_bucketed_trainer(const RankContext& context,
                                                           const DataParallelOptions& options);
std::unique_ptr<DataParallelTrainer> make_sharded_trainer(const RankContext& context,
                                                          const DataParallelOptions& options);

}  // namespace examples
