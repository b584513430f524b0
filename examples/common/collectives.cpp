#include "common/collectives.hpp"

#include "common/check.hpp"

namespace examples {

Collectives::Collectives(const RankContext& context, CollectiveStyle style)
    : context_(context), style_(style), stream_(context.stream) {
  if (!style_.own_stream) {
    return;
  }
  int lowest = 0;
  int highest = 0;
  CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest));
  for (cudaEvent_t& event : events_) {
    CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
}

Collectives::~Collectives() {
  if (!style_.own_stream) {
    return;
  }
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  for (const cudaEvent_t event : events_) {
    CUDA_CHECK(cudaEventDestroy(event));
  }
  CUDA_CHECK(cudaStreamDestroy(stream_));
}

cudaEvent_t Collectives::next_event() { return events_[next_event_++ % events_.size()]; }

template <typename Call>
PendingCollective Collectives::issue(Call call) {
  if (style_.own_stream) {
    const cudaEvent_t ready = next_event();
    CUDA_CHECK(cudaEventRecord(ready, context_.stream));
    CUDA_CHECK(cudaStreamWaitEvent(stream_, ready, 0));
  }
  if (style_.grouped) {
    NCCL_CHECK(ncclGroupStart());
  }
  call();
  if (style_.grouped) {
    NCCL_CHECK(ncclGroupEnd());
  }
  if (!style_.own_stream) {
    return PendingCollective();
  }
  const cudaEvent_t done = next_event();
  CUDA_CHECK(cudaEventRecord(done, stream_));
  return PendingCollective(done);
}

PendingCollective Collectives::all_reduce(const void* send, void* receive, size_t count,
                                          DataType type, ncclRedOp_t op) {
  return issue([&] {
    NCCL_CHECK(
        ncclAllReduce(send, receive, count, nccl_type(type), op, context_.communicator, stream_));
  });
}

PendingCollective Collectives::all_gather(const void* send, void* receive, size_t count,
                                          DataType type) {
  return issue([&] {
    NCCL_CHECK(
        ncclAllGather(send, receive, count, nccl_type(type), context_.communicator, stream_));
  });
}

PendingCollective Collectives::reduce_scatter(const void* send, void* receive, size_t count,
                                              DataType type, ncclRedOp_t op) {
  return issue([&] {
    NCCL_CHECK(ncclReduceScatter(send, receive, count, nccl_type(type), op, context_.communicator,
                                 stream_));
  });
}

PendingCollective Collectives::all_to_all(const void* send, const int* send_rows, void* receive,
                                          const int* receive_rows, size_t row_elements,
                                          DataType type) {
  return issue([&] {
    const auto* next_send = static_cast<const char*>(send);
    auto* next_receive = static_cast<char*>(receive);
    const size_t row_bytes = row_elements * bytes_of(type);
    NCCL_CHECK(ncclGroupStart());
    for (int peer = 0; peer < context_.ranks; ++peer) {
      const auto send_count = static_cast<size_t>(send_rows[peer]);
      const auto receive_count = static_cast<size_t>(receive_rows[peer]);
      if (send_count > 0) {
        NCCL_CHECK(ncclSend(next_send, send_count * row_elements, nccl_type(type), peer,
                            context_.communicator, stream_));
      }
      if (receive_count > 0) {
        NCCL_CHECK(ncclRecv(next_receive, receive_count * row_elements, nccl_type(type), peer,
                            context_.communicator, stream_));
      }
      next_send += send_count * row_bytes;
      next_receive += receive_count * row_bytes;
    }
    NCCL_CHECK(ncclGroupEnd());
  });
}

void Collectives::wait(PendingCollective pending) {
  if (pending.done_ != nullptr) {
    CUDA_CHECK(cudaStreamWaitEvent(context_.stream, pending.done_, 0));
  }
}

}  // namespace examples
