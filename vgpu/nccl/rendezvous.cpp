#include "vgpu/nccl/rendezvous.hpp"

#include <cstdio>
#include <cstring>

#include "vgpu/nccl/data_movement.hpp"
#include "vgpu/nccl/profiler.hpp"

namespace braid::vgpu::nccl {
namespace {

/// Announces that this rank touches other ranks' buffers, so that an aborting rank waits.
class TouchGuard {
 public:
  explicit TouchGuard(SharedCommunicator& shared) : shared_(shared) {
    shared_.touching.fetch_add(1, std::memory_order_seq_cst);
  }
  ~TouchGuard() { shared_.touching.fetch_sub(1, std::memory_order_seq_cst); }
  TouchGuard(const TouchGuard&) = delete;
  TouchGuard& operator=(const TouchGuard&) = delete;

  bool is_present(int rank) const {
    return shared_.seats[static_cast<size_t>(rank)].presence.load(std::memory_order_seq_cst) ==
           Presence::kJoined;
  }

 private:
  SharedCommunicator& shared_;
};

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto begin_a = reinterpret_cast<uintptr_t>(a), begin_b = reinterpret_cast<uintptr_t>(b);
  return begin_a < begin_b + b_bytes && begin_b < begin_a + a_bytes;
}

bool spans_processes(const Communicator& communicator) {
  for (int rank = 0; rank < communicator.ranks; ++rank) {
    if (communicator.shared().seats[static_cast<size_t>(rank)].process != this_process()) {
      return true;
    }
  }
  return false;
}

/// An access a GPU could not make is an illegal access of this rank's kernel: the device is left in
/// CUDA's sticky error state and the other ranks lose their peer.
bool check_buffer(Communicator& communicator, const char* what, const void* address, size_t bytes) {
  if (bytes == 0) {
    return true;
  }
  char text[256];
  if (check_access(communicator.device, address, bytes) != CUDA_SUCCESS) {
    std::snprintf(text, sizeof(text),
                  "%s %p of %zu bytes is not memory that device %d may access (freed, too short, "
                  "pageable, or another device's without peer access)",
                  what, address, bytes, communicator.device);
    fail(communicator, ncclUnhandledCudaError, ncclRemoteError, text);
    set_device_error(communicator.device, CUDA_ERROR_ILLEGAL_ADDRESS);
    return false;
  }
  if (compute_enabled() && spans_processes(communicator)) {
    const auto allocation = find_allocation(reinterpret_cast<uint64_t>(address));
    if (!allocation || allocation->kind == MemoryKind::kPinnedHost) {
      std::snprintf(text, sizeof(text),
                    "%s %p is host memory; across processes the virtual box moves device memory "
                    "only",
                    what, address);
      fail(communicator, ncclInvalidUsage, ncclRemoteError, text);
      return false;
    }
  }
  return true;
}

std::string describe(const PostedCollective& call) {
  std::string text = name_of(static_cast<abi::Function>(call.function));
  text += "(count " + std::to_string(call.count) + ", " +
          name_of(static_cast<ncclDataType_t>(call.datatype));
  if (is_reducing(static_cast<abi::Function>(call.function))) {
    text += std::string(", ") + name_of(static_cast<ReductionKind>(call.operation));
  }
  if (call.function == abi::kBroadcast || call.function == abi::kReduce) {
    text += ", root " + std::to_string(call.root);
  }
  return text + ")";
}

std::string describe_way(const PostedCollective& call) {
  return std::string(model::algorithm_name(call.algorithm)) + "/" +
         model::protocol_name(call.protocol) + " on " + std::to_string(call.channels) + " channels";
}

bool same_call(const PostedCollective& a, const PostedCollective& b) {
  return a.function == b.function && a.datatype == b.datatype && a.operation == b.operation &&
         a.root == b.root && a.count == b.count;
}

bool same_way(const PostedCollective& a, const PostedCollective& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels &&
         a.plan == b.plan;
}

/// "": all ranks agree.
std::string find_mismatch(const std::vector<PostedCollective>& posted, uint64_t number) {
  for (size_t rank = 1; rank < posted.size(); ++rank) {
    const std::string intro =
        "collective #" + std::to_string(number) + " differs between ranks: rank 0 ";
    if (!same_call(posted[0], posted[rank])) {
      return intro + "called " + describe(posted[0]) + ", rank " + std::to_string(rank) +
             " called " + describe(posted[rank]);
    }
    if (!same_way(posted[0], posted[rank])) {
      return intro + "runs " + describe(posted[0]) + " as " + describe_way(posted[0]) + ", rank " +
             std::to_string(rank) + " as " + describe_way(posted[rank]) +
             (posted[0].plan != posted[rank].plan ? " (rings or chains differ)" : "") +
             "; tuner, NCCL_* settings and graph files must be the same on all ranks";
    }
  }
  return "";
}

void carry_out(Communicator& communicator, uint64_t number) {
  SharedCommunicator& shared = communicator.shared();
  const TouchGuard guard(shared);
  std::vector<PostedCollective> posted;
  for (int rank = 0; rank < communicator.ranks; ++rank) {
    if (!guard.is_present(rank)) {
      return;  // it aborted after it had arrived; nobody completes
    }
    posted.push_back(shared.seats[static_cast<size_t>(rank)].posted);
  }
  const std::string mismatch = find_mismatch(posted, number);
  if (!mismatch.empty()) {
    fail(communicator, ncclInvalidUsage, ncclInvalidUsage, mismatch);
    return;
  }
  if (compute_enabled()) {
    move_data(communicator.plan, posted);
  }
  shared.completed.store(number + 1, std::memory_order_release);
}

bool read_scalar(Communicator& communicator, const CollectiveOperation& operation,
                 uint64_t* scalar) {
  *scalar = operation.scalar.scalar;
  if (operation.scalar.address == nullptr) {
    return true;
  }
  const size_t bytes = bytes_of(operation.datatype);
  if (check_access(communicator.device, operation.scalar.address, bytes) != CUDA_SUCCESS) {
    return check_buffer(communicator, "PreMulSum scalar", operation.scalar.address, bytes);
  }
  if (compute_enabled()) {
    std::memcpy(scalar, operation.scalar.address, bytes);
  }
  return true;
}

Mailbox& mailbox_of(const Communicator& communicator, const MessageOperation& operation) {
  return operation.is_send ? communicator.shared().mailbox(communicator.rank, operation.peer)
                           : communicator.shared().mailbox(operation.peer, communicator.rank);
}

void deliver(Communicator& communicator, const MessageOperation& operation, Mailbox& box,
             uint64_t number) {
  const TouchGuard guard(communicator.shared());
  if (!guard.is_present(operation.peer)) {
    return;
  }
  if (box.send_bytes != box.receive_bytes) {
    const int from = operation.is_send ? communicator.rank : operation.peer;
    const int to = operation.is_send ? operation.peer : communicator.rank;
    fail(communicator, ncclInvalidUsage, ncclInvalidUsage,
         "message #" + std::to_string(number) + " from rank " + std::to_string(from) + " to rank " +
             std::to_string(to) + ": " + std::to_string(box.send_bytes) + " bytes are sent, " +
             std::to_string(box.receive_bytes) + " are expected");
    return;
  }
  if (compute_enabled() && box.send_bytes > 0 && box.send != box.receive) {
    std::memmove(reinterpret_cast<void*>(box.receive), reinterpret_cast<const void*>(box.send),
                 box.send_bytes);
  }
  box.completed.store(number + 1, std::memory_order_release);
}

}  // namespace

bool post_collective(Communicator& communicator, const CollectiveOperation& operation) {
  const BufferSizes sizes = buffer_sizes(operation, communicator.rank, communicator.ranks);
  uint64_t scalar = 0;
  if (!check_buffer(communicator, "send buffer", operation.send, sizes.send) ||
      !check_buffer(communicator, "receive buffer", operation.receive, sizes.receive) ||
      !read_scalar(communicator, operation, &scalar)) {
    return false;
  }
  if (compute_enabled() && sizes.receive > 0 &&
      !overlap(operation.send, sizes.send, operation.receive, sizes.receive)) {
    poison(operation.receive, sizes.receive);
  }
  SharedCommunicator& shared = communicator.shared();
  PostedCollective& posted = shared.seats[static_cast<size_t>(communicator.rank)].posted;
  posted.function = operation.function;
  posted.datatype = operation.datatype;
  posted.operation = static_cast<int32_t>(operation.operation);
  posted.root = operation.root;
  posted.count = operation.count;
  posted.algorithm = operation.algorithm;
  posted.protocol = operation.protocol;
  posted.channels = operation.channels;
  posted.plan = communicator.plan_digest;
  posted.send = reinterpret_cast<uint64_t>(operation.send);
  posted.receive = reinterpret_cast<uint64_t>(operation.receive);
  posted.scalar = scalar;
  const uint64_t number = communicator.collectives;
  const uint64_t arrivals = shared.arrivals.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrivals == (number + 1) * static_cast<uint64_t>(communicator.ranks)) {
    carry_out(communicator, number);
  }
  return !communicator.is_stopped();
}

bool collect_collective(Communicator& communicator) {
  if (communicator.shared().completed.load(std::memory_order_acquire) <= communicator.collectives) {
    return false;
  }
  ++communicator.collectives;
  return true;
}

bool post_message(Communicator& communicator, const MessageOperation& operation,
                  MessageTicket* ticket) {
  if (!check_buffer(communicator, operation.is_send ? "send buffer" : "receive buffer",
                    operation.buffer, operation.bytes)) {
    return false;
  }
  auto& counts = operation.is_send ? communicator.sent : communicator.received;
  const uint64_t number = counts[static_cast<size_t>(operation.peer)]++;
  ticket->number = number;
  Mailbox& box = mailbox_of(communicator, operation);
  if (operation.is_send) {
    box.send = reinterpret_cast<uint64_t>(operation.buffer);
    box.send_bytes = operation.bytes;
  } else {
    box.receive = reinterpret_cast<uint64_t>(operation.buffer);
    box.receive_bytes = operation.bytes;
    if (compute_enabled() && operation.peer != communicator.rank) {
      poison(operation.buffer, operation.bytes);
    }
  }
  if (box.posted.fetch_add(1, std::memory_order_acq_rel) == 2 * number + 1) {
    deliver(communicator, operation, box, number);
  }
  return !communicator.is_stopped();
}

bool is_delivered(const Communicator& communicator, const MessageOperation& operation,
                  const MessageTicket& ticket) {
  return mailbox_of(communicator, operation).completed.load(std::memory_order_acquire) >
         ticket.number;
}

}  // namespace braid::vgpu::nccl
