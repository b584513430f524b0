// How the ranks of a job find each other before NCCL connects them: rank 0 hands out NCCL's unique
// id and collects each rank's final checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace examples {

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Rank 0's bytes reach every rank. All ranks call it.
  virtual void broadcast(int rank, void* bytes, size_t count) = 0;
  /// Rank 0 gets every rank's value, in rank order; the others get nothing. All ranks call it.
  virtual std::vector<uint64_t> gather(int rank, uint64_t value) = 0;
};

/// For ranks that are threads of one process; shared by them.
std::unique_ptr<Rendezvous> make_thread_rendezvous(int ranks);

/// For ranks that are processes: rank 0 listens on host:port, the others connect to it.
std::unique_ptr<Rendezvous> make_tcp_rendezvous(int rank, int ranks, const char* host, int port);

}  // namespace examples
