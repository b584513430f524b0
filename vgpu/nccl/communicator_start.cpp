// The blocking part of starting a communicator; see initialization.hpp.
#include <algorithm>
#include <cstring>
#include <fstream>

#include "vgpu/nccl/cost_constants.hpp"
#include "vgpu/nccl/initialization.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/settings.hpp"
#include "vgpu/nccl/tuner.hpp"

namespace braid::vgpu::nccl {
namespace {

void mix(uint64_t value, uint64_t* hash) {
  *hash = (*hash ^ value) * 0x9e3779b97f4a7c15;
  *hash ^= *hash >> 29;
}

uint64_t digest_of(const model::StockPlan& plan) {
  uint64_t hash = 1;
  for (const auto* channels : {&plan.ring_channels, &plan.tree_channels}) {
    mix(channels->size(), &hash);
    for (const auto& channel : *channels) {
      for (const int rank : channel) {
        mix(static_cast<uint64_t>(rank), &hash);
      }
    }
  }
  return hash;
}

/// Two ranks of a communicator cannot share a device: their kernels could wait for each other.
ncclResult_t check_devices(Communicator& communicator) {
  const SharedCommunicator& shared = communicator.shared();
  for (int rank = 0; rank < communicator.ranks; ++rank) {
    if (rank != communicator.rank &&
        shared.seats[static_cast<size_t>(rank)].device == communicator.device) {
      return reject(ncclInvalidUsage,
                    "Duplicate GPU detected : rank %d and rank %d both on CUDA device %s",
                    communicator.rank, rank,
                    devices()[static_cast<size_t>(communicator.device)].bus_id.c_str());
    }
  }
  return ncclSuccess;
}

/// The smaller of two limits, of which 0 is none.
int least(int64_t a, int64_t b) {
  const int64_t limit = a <= 0 ? b : (b <= 0 ? a : std::min(a, b));
  return static_cast<int>(std::max<int64_t>(0, limit));
}

/// A channel limit: the new name first, then the one NCCL still reads for old scripts.
int64_t channel_setting(const char* name, const char* old_name) {
  return cached_number(name, cached_number(old_name, 0));
}

model::NcclSettings settings_of(const Communicator& communicator) {
  model::NcclSettings settings;
  settings.algo = read_setting("NCCL_ALGO");
  settings.proto = read_setting("NCCL_PROTO");
  settings.graph_file = read_setting("NCCL_GRAPH_FILE");
  settings.p2p_level = cached_number("NCCL_P2P_DISABLE", 0) == 1 ? std::string("LOC")
                                                                 : cached_text("NCCL_P2P_LEVEL");
  const CommunicatorConfig& config = communicator.config;
  settings.max_channels =
      least(least(channel_setting("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS"), config.max_ctas),
            communicator.channel_limit);
  settings.min_channels = std::max(
      static_cast<int>(channel_setting("NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS")), config.min_ctas);
  if (settings.max_channels > 0) {
    settings.min_channels = std::min(settings.min_channels, settings.max_channels);
  }
  return settings;
}

/// What NCCL answers when rings cannot be made: a graph file it cannot open, or one that names a
/// GPU the communicator lacks, is a system error; anything else wrong in it an internal one.
ncclResult_t graph_error_code(const model::NcclSettings& settings, const Error& error) {
  if (settings.graph_file.empty()) {
    return ncclInternalError;
  }
  const bool unreadable = !std::ifstream(settings.graph_file);
  const bool foreign_gpu = error.what.find("not in the communicator") != std::string::npos;
  return unreadable || foreign_gpu ? ncclSystemError : ncclInternalError;
}

ncclResult_t make_plan(Communicator& communicator, int* compute_capability) {
  std::vector<int> gpus;
  *compute_capability = INT32_MAX;
  for (int rank = 0; rank < communicator.ranks; ++rank) {
    const int device = communicator.shared().seats[static_cast<size_t>(rank)].device;
    const DeviceInfo& info = devices()[static_cast<size_t>(device)];
    gpus.push_back(info.topology_index);
    *compute_capability = std::min(*compute_capability, info.compute_capability);
  }
  const model::NcclSettings settings = settings_of(communicator);
  if (!settings.graph_file.empty()) {
    BRAID_NCCL_INFO(abi::kLogGraph | abi::kLogEnv, "NCCL_GRAPH_FILE set by environment to %s",
                    settings.graph_file.c_str());
  }
  auto plan = model::plan_stock(topology(), gpus, settings);
  if (!plan) {
    return reject(graph_error_code(settings, plan.error()), "%s", plan.error().text().c_str());
  }
  if (plan->ring_channels.empty() || plan->tree_channels.empty()) {
    return reject(ncclInternalError, "No channels were found for a communicator of %d ranks",
                  communicator.ranks);
  }
  communicator.plan = std::move(*plan);
  communicator.plan_digest = digest_of(communicator.plan);
  return ncclSuccess;
}

ncclResult_t start_tuner(Communicator& communicator, int compute_capability) {
  abi::TunerConstants constants = default_constants();
  BRAID_NCCL_TRY(
      TunerSession::open(communicator.id, communicator.ranks, &constants, &communicator.tuner));
  const abi::TunerConstants defaults = default_constants();
  if (std::memcmp(&constants, &defaults, sizeof(constants)) != 0) {
    apply_constants(constants, compute_capability, &communicator.plan);
  }
  return ncclSuccess;
}

/// Everything after all ranks have taken their seats, up to the last exchange.
ncclResult_t set_up(Communicator& communicator) {
  communicator.id = communicator.key.high;
  mix(communicator.key.low, &communicator.id);
  communicator.sent.assign(static_cast<size_t>(communicator.ranks), 0);
  communicator.received.assign(static_cast<size_t>(communicator.ranks), 0);
  BRAID_NCCL_TRY(check_devices(communicator));
  int compute_capability = 0;
  BRAID_NCCL_TRY(make_plan(communicator, &compute_capability));
  BRAID_NCCL_TRY(start_tuner(communicator, compute_capability));
  ProfilerSession::open(
      {communicator.id, communicator.config.name, communicator.ranks, communicator.rank},
      &communicator.profiler);
  return ncclSuccess;
}

}  // namespace

ncclResult_t start_communicator(Communicator& communicator) {
  const CallerScope caller(communicator);
  ncclResult_t result = join(communicator.key, communicator.ranks, communicator.rank,
                             communicator.device, &communicator.slot);
  if (result != ncclSuccess) {
    return result;
  }
  SharedCommunicator& shared = communicator.shared();
  result = wait_until(communicator, [&] {
    return shared.joined.load(std::memory_order_acquire) == communicator.ranks;
  });
  if (result == ncclSuccess) {
    result = set_up(communicator);
    // All ranks leave together: nobody uses a communicator another rank could not start.
    std::vector<ncclResult_t> results(static_cast<size_t>(communicator.ranks));
    const ncclResult_t met = exchange(communicator, &result, sizeof(result), results.data());
    for (size_t rank = 0; result == ncclSuccess && met == ncclSuccess && rank < results.size();
         ++rank) {
      if (results[rank] != ncclSuccess) {
        result = reject(results[rank] == ncclInvalidUsage ? ncclInvalidUsage : ncclRemoteError,
                        "rank %zu could not start the communicator: %s", rank,
                        ncclGetErrorString(results[rank]));
      }
    }
    result = result == ncclSuccess ? met : result;
  }
  if (result == ncclSuccess) {
    BRAID_NCCL_INFO(abi::kLogInit,
                    "comm %p rank %d nranks %d cudaDev %d busId %s commId 0x%llx - Init COMPLETE",
                    static_cast<void*>(&communicator), communicator.rank, communicator.ranks,
                    communicator.device,
                    devices()[static_cast<size_t>(communicator.device)].bus_id.c_str(),
                    static_cast<unsigned long long>(communicator.id));
    return ncclSuccess;
  }
  communicator.tuner.reset();
  communicator.profiler.reset();
  if (!communicator.aborted) {
    // An aborting thread gives the seat back itself.
    const SlotReference slot = std::exchange(communicator.slot, {});
    leave(slot, communicator.rank, Presence::kAborted);
  }
  return result;
}

}  // namespace braid::vgpu::nccl
