#include "vgpu/nccl/selection.hpp"

#include <algorithm>
#include <tuple>

#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/settings.hpp"
#include "vgpu/nccl/tuner.hpp"

namespace braid::vgpu::nccl {
namespace {

constexpr uint64_t kAggregateFactor = 4;

auto kind_of(const CollectiveOperation& operation) {
  return std::tuple{static_cast<int>(operation.function), static_cast<int>(operation.operation),
                    static_cast<int>(operation.datatype)};
}

/// What the pick rule found has to exist: a tuner can make any entry the cheapest.
ncclResult_t check_choice(const Communicator& communicator, const model::Choice& choice,
                          abi::Function function, const CollectiveOperation& first) {
  if (choice.algorithm < 0) {
    const bool restricted =
        !read_setting("NCCL_ALGO").empty() || !read_setting("NCCL_PROTO").empty();
    return reject(restricted ? ncclInvalidUsage : ncclInternalError,
                  "Error : no algorithm/protocol available for function %s with datatype %s.%s",
                  name_of(function), name_of(first.datatype),
                  restricted ? " NCCL_ALGO or NCCL_PROTO leaves none." : "");
  }
  const bool runs = choice.algorithm == model::kRing ||
                    (choice.algorithm == model::kTree && function == abi::kAllReduce);
  if (!runs) {
    return reject(ncclInternalError,
                  "%s was chosen as %s/%s, for which this communicator (comm %p) has no kernel",
                  name_of(function), model::algorithm_name(choice.algorithm),
                  model::protocol_name(choice.protocol), static_cast<const void*>(&communicator));
  }
  return ncclSuccess;
}

ncclResult_t select_aggregate(Communicator& communicator, CollectiveOperation* begin,
                              CollectiveOperation* end, double* time_us) {
  const abi::Function function = begin->function;
  const config::Collective collective = model_collective(function);
  size_t bytes = 0;
  for (const CollectiveOperation* operation = begin; operation != end; ++operation) {
    bytes += model_bytes(*operation, communicator.ranks);
  }
  const auto channels = static_cast<int>(communicator.plan.ring_channels.size());
  const int grouped = (static_cast<int>(end - begin) + channels - 1) / channels;
  model::CostTable table = cost_table(communicator.plan, collective, bytes, grouped);
  int wanted_channels = 0;
  if (communicator.tuner != nullptr) {
    BRAID_NCCL_TRY(communicator.tuner->ask(function, bytes, grouped, &table, &wanted_channels));
    if (wanted_channels < 0) {
      return reject(ncclInternalError, "TUNER/Plugin: asked for %d channels", wanted_channels);
    }
  }
  const model::Choice choice = choose(communicator.plan, table, collective, bytes, wanted_channels);
  BRAID_NCCL_TRY(check_choice(communicator, choice, function, *begin));
  BRAID_NCCL_INFO(abi::kLogTuning, "%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}",
                  name_of(function), bytes, model::algorithm_name(choice.algorithm),
                  model::protocol_name(choice.protocol), choice.channels - 1);
  for (CollectiveOperation* operation = begin; operation != end; ++operation) {
    operation->algorithm = choice.algorithm;
    operation->protocol = choice.protocol;
    operation->channels = choice.channels;
  }
  *time_us += choice.time_us;
  return ncclSuccess;
}

}  // namespace

ncclResult_t select(Communicator& communicator, std::vector<CollectiveOperation>* collectives,
                    double* time_us) {
  if (communicator.ranks == 1) {
    for (CollectiveOperation& operation : *collectives) {
      operation.algorithm = model::kRing;
      operation.protocol = model::kSimple;
    }
    return ncclSuccess;
  }
  // Ranks may call the members of a group in any order that keeps equal ones in order.
  const auto bytes = [&](const CollectiveOperation& operation) {
    return model_bytes(operation, communicator.ranks);
  };
  std::stable_sort(collectives->begin(), collectives->end(), [&](const auto& a, const auto& b) {
    return kind_of(a) != kind_of(b) ? kind_of(a) < kind_of(b) : bytes(a) > bytes(b);
  });
  CollectiveOperation* const end = collectives->data() + collectives->size();
  for (CollectiveOperation* first = collectives->data(); first != end;) {
    CollectiveOperation* last = first;
    while (last != end && kind_of(*last) == kind_of(*first) &&
           bytes(*first) < kAggregateFactor * bytes(*last)) {
      ++last;
    }
    BRAID_NCCL_TRY(select_aggregate(communicator, first, last, time_us));
    first = last;
  }
  return ncclSuccess;
}

}  // namespace braid::vgpu::nccl
