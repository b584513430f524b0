#include "common/launcher.hpp"

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace examples {
namespace {

int environment_number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return otherwise;
  }
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 0 || value > 1000000) {
    fail("%s: expected a whole number, found '%s'", name, text);
  }
  return static_cast<int>(value);
}

int count_devices() {
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  return devices;
}

void run_rank(int rank, int ranks, int device, Rendezvous& rendezvous,
              const std::function<void(RankContext&)>& body) {
  CUDA_CHECK(cudaSetDevice(device));
  RankContext context;
  context.rank = rank;
  context.ranks = ranks;
  context.rendezvous = &rendezvous;

  ncclUniqueId id = {};
  if (rank == 0) {
    NCCL_CHECK(ncclGetUniqueId(&id));
  }
  rendezvous.broadcast(rank, &id, sizeof(id));
  NCCL_CHECK(ncclCommInitRank(&context.communicator, ranks, id, rank));
  CUDA_CHECK(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking));
  CUBLAS_CHECK(cublasCreate(&context.cublas));
  CUBLAS_CHECK(cublasSetStream(context.cublas, context.stream));

  body(context);

  CUDA_CHECK(cudaStreamSynchronize(context.stream));
  CUBLAS_CHECK(cublasDestroy(context.cublas));
  NCCL_CHECK(ncclCommDestroy(context.communicator));
  CUDA_CHECK(cudaStreamDestroy(context.stream));
}

/// torchrun's agent keeps MASTER_PORT for a store of its own; the next port is ours then.
int rendezvous_port() {
  const char* agent_store = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  const bool taken = agent_store != nullptr && std::strcmp(agent_store, "True") == 0;
  return environment_number("MASTER_PORT", 29500) + (taken ? 1 : 0);
}

}  // namespace

int world_size(const CommonOptions& options) {
  return options.ranks > 0 ? options.ranks : environment_number("WORLD_SIZE", 1);
}

void run_ranks(const CommonOptions& options, const std::function<void(RankContext&)>& body) {
  const int ranks = world_size(options);
  const int devices = count_devices();
  if (options.ranks > 0) {
    if (ranks > devices) {
      fail("--ranks %d needs %d GPUs; this machine has %d", ranks, ranks, devices);
    }
    const auto rendezvous = make_thread_rendezvous(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { run_rank(rank, ranks, rank, *rendezvous, body); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return;
  }
  const int rank = environment_number("RANK", 0);
  if (rank >= ranks) {
    fail("RANK %d is not below WORLD_SIZE %d", rank, ranks);
  }
  const int device = environment_number("LOCAL_RANK", rank % devices);
  if (device >= devices) {
    fail("LOCAL_RANK %d needs %d GPUs; this machine has %d", device, device + 1, devices);
  }
  const char* host = std::getenv("MASTER_ADDR");
  const auto rendezvous =
      make_tcp_rendezvous(rank, ranks, host != nullptr ? host : "127.0.0.1", rendezvous_port());
  run_rank(rank, ranks, device, *rendezvous, body);
}

}  // namespace examples
