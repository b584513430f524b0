// Starting the ranks: threads of this process, or this process as one rank of a job.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <functional>

#include "common/flags.hpp"
#include "common/rendezvous.hpp"

namespace examples {

/// What a rank works with. Made by run_ranks, with the rank's device current.
struct RankContext {
  int rank = 0;
  int ranks = 1;
  ncclComm_t communicator = nullptr;
  cublasHandle_t cublas = nullptr;  // bound to `stream`
  cudaStream_t stream = nullptr;    // the compute stream
  Rendezvous* rendezvous = nullptr;
};

/// Runs `body` once for each rank that belongs to this process, and waits for all of them. With
/// --ranks N these are N threads on devices 0 … N-1; otherwise one rank, as the launcher's
/// environment says (a job of one when it says nothing).
void run_ranks(const CommonOptions& options, const std::function<void(RankContext&)>& body);

/// How many ranks the job has, before any of them started.
int world_size(const CommonOptions& options);

}  // namespace examples
