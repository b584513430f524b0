// Data-parallel MLP training.
//
// By default as PyTorch's DistributedDataParallel: every rank holds all parameters; gradients are
// collected in buckets, and a bucket's AllReduce starts when the backward pass has filled it. With
// --shard as FullyShardedDataParallel: every rank holds a shard of each layer; parameters are
// gathered one layer ahead of use, gradients are reduced and scattered as each layer's backward
// pass ends.
#include <memory>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "data_parallel.hpp"

using namespace examples;

int main(int argc, char** argv) {
  DataParallelOptions options;
  FlagParser parser("dp_mlp",
                    "Data-parallel MLP training: gradient buckets, or sharded parameters.");
  add_common_flags(parser, options);
  parser.add_switch("--shard", &options.shard,
                    "shard parameters, gradients and updates over ranks");
  parser.add("--bucket-mib", &options.bucket_mib, 1, "gradient bucket size in MiB (25)");
  parser.add_choice("--collective-stream", &options.collective_stream, {"own", "compute"},
                    "stream of the collectives");
  parser.add_switch("--group", &options.grouped, "put each collective in a group of one");
  parser.parse(argc, argv);
  finish_common_flags(parser, options);
  const int ranks = world_size(options);
  if (options.tokens % ranks != 0) {
    parser.refuse("--tokens must be a multiple of the " + std::to_string(ranks) + " ranks");
  }

  run_ranks(options, [&](RankContext& context) {
    const std::unique_ptr<DataParallelTrainer> trainer =
        options.shard ? make_sharded_trainer(context, options)
                      : make_bucketed_trainer(context, options);
    for (int step = 0; step < options.total_steps(); ++step) {
      trainer->run_step(step);
      CUDA_CHECK(cudaStreamSynchronize(context.stream));
    }
    report_results(context, options.type(), trainer->results(), options.dump_path);
  });
  return 0;
}
