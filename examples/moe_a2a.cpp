// Expert-parallel mixture of experts, forward pass: dispatch tokens to the ranks that own their
// experts (all-to-all by grouped send and receive), run the experts' MLPs, combine the results
// back.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/check.hpp"
#include "common/collectives.hpp"
#include "common/kernels.hpp"
#include "common/mlp.hpp"
#include "common/results.hpp"
#include "common/seeds.hpp"
#include "common/token_routing.hpp"

using namespace examples;

namespace {

struct Options : CommonOptions {
  bool grouped = false;
  int experts = 8;
  int collective_stream = 0;  // own, compute
};

/// A plan's row numbers on the device, uploaded through pinned memory of their own.
class DeviceIndices {
 public:
  explicit DeviceIndices(size_t capacity) {
    CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&host_), capacity * sizeof(int)));
    CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&device_), capacity * sizeof(int)));
  }
  ~DeviceIndices() {
    CUDA_CHECK(cudaFree(device_));
    CUDA_CHECK(cudaFreeHost(host_));
  }
  DeviceIndices(const DeviceIndices&) = delete;
  DeviceIndices& operator=(const DeviceIndices&) = delete;

  /// The previous upload must be over.
  void upload(const std::vector<int>& values, cudaStream_t stream) {
    std::copy(values.begin(), values.end(), host_);
    CUDA_CHECK(cudaMemcpyAsync(device_, host_, values.size() * sizeof(int), cudaMemcpyHostToDevice,
                               stream));
  }
  const int* data() const { return device_; }

 private:
  int* host_ = nullptr;
  int* device_ = nullptr;
};

class ExpertParallelModel {
 public:
  ExpertParallelModel(const RankContext& context, const Options& options)
      : options_(options),
        context_(context),
        worker_{context, allocator_, options.type()},
        collectives_(context, {options.collective_stream == 0, options.grouped}),
        routing_{context.ranks, options.experts, options.tokens / context.ranks},
        hidden_(static_cast<size_t>(options.hidden)),
        elements_(static_cast<size_t>(routing_.tokens_per_rank) * hidden_) {
    for (int layer = 0; layer < options.layers; ++layer) {
      layers_.push_back(make_layer(layer));
    }
  }

  void run_step(int step) {
    Buffer x = worker_.make_buffer(elements_);
    const auto rows = static_cast<size_t>(routing_.tokens_per_rank);
    fill(worker_.type, x.data(),
         {rows, hidden_, hidden_, rows * static_cast<size_t>(context_.rank), 0},
         seed_of(options_.seed, TensorKind::kInput, static_cast<uint64_t>(step)), 1.0F,
         context_.stream);
    for (int layer = 0; layer < options_.layers; ++layer) {
      const auto number = static_cast<uint64_t>(step) * static_cast<uint64_t>(options_.layers) +
                          static_cast<uint64_t>(layer);
      const RoutingPlan plan =
          plan_routing(routing_, context_.rank, seed_of(options_.seed, TensorKind::kRoute, number));
      x = forward(*layers_[static_cast<size_t>(layer)], plan, x);
    }
    output_ = std::move(x);
    CUDA_CHECK(cudaStreamSynchronize(context_.stream));
  }

  std::vector<ResultPart> results() const { return {{"output", output_.data(), elements_}}; }

 private:
  struct Expert {
    Buffer w1;
    Buffer w2;
  };
  struct Layer {
    Layer(size_t sent, size_t received) : dispatch(sent), by_expert(received) {}
    std::vector<Expert> experts;
    DeviceIndices dispatch;
    DeviceIndices by_expert;
  };

  std::unique_ptr<Layer> make_layer(int number) {
    auto layer = std::make_unique<Layer>(static_cast<size_t>(routing_.tokens_per_rank),
                                         static_cast<size_t>(options_.tokens));
    const int local = options_.experts / context_.ranks;
    const auto ffn = static_cast<size_t>(options_.ffn);
    for (int i = 0; i < local; ++i) {
      const auto id = static_cast<uint64_t>(number * options_.experts + context_.rank * local + i);
      Expert expert{worker_.make_buffer(hidden_ * ffn), worker_.make_buffer(hidden_ * ffn)};
      fill(worker_.type, expert.w1.data(), {hidden_, ffn, ffn},
           seed_of(options_.seed, TensorKind::kWeight1, id), weight_scale(options_.hidden),
           context_.stream);
      fill(worker_.type, expert.w2.data(), {ffn, hidden_, hidden_},
           seed_of(options_.seed, TensorKind::kWeight2, id), weight_scale(options_.ffn),
           context_.stream);
      layer->experts.push_back(std::move(expert));
    }
    return layer;
  }

  /// x + expert(x), each token by its own expert.
  Buffer forward(Layer& layer, const RoutingPlan& plan, const Buffer& x) {
    const auto sent = plan.dispatch.size();
    const auto received = plan.by_expert.size();
    layer.dispatch.upload(plan.dispatch, context_.stream);
    layer.by_expert.upload(plan.by_expert, context_.stream);

    const Buffer outgoing = worker_.make_buffer(elements_);
    gather_rows(worker_.type, outgoing.data(), x.data(), layer.dispatch.data(), sent, hidden_,
                context_.stream);
    const Buffer incoming = worker_.make_buffer(received * hidden_);
    collectives_.wait(collectives_.all_to_all(outgoing.data(), plan.send_rows.data(),
                                              incoming.data(), plan.receive_rows.data(), hidden_,
                                              worker_.type));

    const Buffer results = run_experts(layer, plan, incoming);

    const Buffer combined = worker_.make_buffer(elements_);
    collectives_.wait(collectives_.all_to_all(results.data(), plan.receive_rows.data(),
                                              combined.data(), plan.send_rows.data(), hidden_,
                                              worker_.type));
    const Buffer y = worker_.make_buffer(elements_);
    scatter_rows(worker_.type, y.data(), combined.data(), layer.dispatch.data(), sent, hidden_,
                 context_.stream);
    Buffer result = worker_.make_buffer(elements_);
    add(worker_.type, result.data(), x.data(), y.data(), elements_, context_.stream);
    return result;
  }

  /// The received rows through their experts, in the order they came.
  Buffer run_experts(const Layer& layer, const RoutingPlan& plan, const Buffer& incoming) {
    const auto rows = plan.by_expert.size();
    const size_t row_bytes = hidden_ * bytes_of(worker_.type);
    const Buffer sorted = worker_.make_buffer(rows * hidden_);
    gather_rows(worker_.type, sorted.data(), incoming.data(), layer.by_expert.data(), rows, hidden_,
                context_.stream);
    const Buffer computed = worker_.make_buffer(rows * hidden_);
    size_t first_row = 0;
    for (size_t i = 0; i < layer.experts.size(); ++i) {
      const MlpShape shape{plan.expert_rows[i], options_.hidden, options_.ffn};
      if (shape.tokens > 0) {
        mlp_forward(worker_, shape, static_cast<const char*>(sorted.data()) + first_row * row_bytes,
                    layer.experts[i].w1.data(), layer.experts[i].w2.data(),
                    static_cast<char*>(computed.data()) + first_row * row_bytes);
      }
      first_row += static_cast<size_t>(shape.tokens);
    }
    Buffer results = worker_.make_buffer(rows * hidden_);
    scatter_rows(worker_.type, results.data(), computed.data(), layer.by_expert.data(), rows,
                 hidden_, context_.stream);
    return results;
  }

  const Options& options_;
  const RankContext& context_;
  CachingAllocator allocator_;
  Worker worker_;
  Collectives collectives_;
  RoutingShape routing_;
  size_t hidden_;
  size_t elements_;  // this rank's tokens × hidden
  std::vector<std::unique_ptr<Layer>> layers_;
  Buffer output_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  FlagParser parser("moe_a2a", "Expert-parallel mixture of experts: dispatch, experts, combine.");
  add_common_flags(parser, options);
  parser.add("--experts", &options.experts, 1, "experts over all ranks (8)");
  parser.add_choice("--collective-stream", &options.collective_stream, {"own", "compute"},
                    "stream of the collectives");
  parser.add_switch("--group", &options.grouped, "put each all-to-all in a further group");
  parser.parse(argc, argv);
  finish_common_flags(parser, options);
  const int ranks = world_size(options);
  if (options.tokens % ranks != 0 || options.experts % ranks != 0) {
    parser.refuse("--tokens and --experts must be multiples of the " + std::to_string(ranks) +
                  " ranks");
  }

  run_ranks(options, [&](RankContext& context) {
    ExpertParallelModel model(context, options);
    for (int step = 0; step < options.total_steps(); ++step) {
      model.run_step(step);
    }
    report_results(context, options.type(), model.results(), options.dump_path);
  });
  return 0;
}
