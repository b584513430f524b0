// Issuing collectives as frameworks do: on a stream of their own with an event hop there and back,
// or directly on the compute stream; alone, or in a group of one.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <cstddef>

#include "common/data_type.hpp"
#include "common/launcher.hpp"

namespace examples {

struct CollectiveStyle {
  bool own_stream = true;
  bool grouped = false;  // every collective in a ncclGroupStart/End of its own
};

/// A collective that was issued. Until wait() its buffers belong to it.
class PendingCollective {
 public:
  PendingCollective() = default;

 private:
  friend class Collectives;
  explicit PendingCollective(cudaEvent_t done) : done_(done) {}
  cudaEvent_t done_ = nullptr;  // nullptr: on the compute stream, nothing to wait for
};

class Collectives {
 public:
  Collectives(const RankContext& context, CollectiveStyle style);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  // Each starts after everything enqueued on the compute stream so far. `count` is in elements: of
  // the whole for all_reduce, of one rank's share for all_gather and reduce_scatter.
  PendingCollective all_reduce(const void* send, void* receive, size_t count, DataType type,
                               ncclRedOp_t op = ncclSum);
  PendingCollective all_gather(const void* send, void* receive, size_t count, DataType type);
  PendingCollective reduce_scatter(const void* send, void* receive, size_t count, DataType type,
                                   ncclRedOp_t op = ncclSum);
  /// Rows of `row_elements`: the first send_rows[0] rows go to rank 0, and so on; likewise
  /// received.
  PendingCollective all_to_all(const void* send, const int* send_rows, void* receive,
                               const int* receive_rows, size_t row_elements, DataType type);

  /// Later work on the compute stream comes after the collective.
  void wait(PendingCollective pending);

 private:
  cudaEvent_t next_event();
  template <typename Call>
  PendingCollective issue(Call call);

  const RankContext& context_;
  const CollectiveStyle style_;
  cudaStream_t stream_ = nullptr;
  // An event may be recorded again once its wait was enqueued; far fewer are pending at a time.
  std::array<cudaEvent_t, 256> events_{};
  size_t next_event_ = 0;
};

}  // namespace examples
