#include "vgpu/nccl/calls.hpp"

#include "vgpu/nccl/group.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/settings.hpp"

namespace braid::vgpu::nccl {
namespace {

bool is_message(abi::Function function) { return function == abi::kSend || function == abi::kRecv; }
bool has_root(abi::Function function) {
  return function == abi::kBroadcast || function == abi::kReduce || function == abi::kGather ||
         function == abi::kScatter;
}

/// NCCL_CHECK_POINTERS=1: a buffer has to be memory of the communicator's device.
ncclResult_t check_pointer(const Call& call, const Communicator& communicator, const void* pointer,
                           const char* what) {
  const auto allocation = find_allocation(reinterpret_cast<uint64_t>(pointer));
  if (!allocation) {
    return reject(ncclInvalidArgument, "%s : %s is not a valid pointer", call.name, what);
  }
  if (allocation->kind == MemoryKind::kDevice && allocation->device != communicator.device) {
    return reject(ncclInvalidArgument,
                  "%s : %s allocated on device %d mismatchs with NCCL device %d", call.name, what,
                  allocation->device, communicator.device);
  }
  return ncclSuccess;
}

ncclResult_t check_pointers(const Call& call, const Communicator& communicator) {
  if (call.count == 0 || cached_number("NCCL_CHECK_POINTERS", 0) == 0) {
    return ncclSuccess;
  }
  const bool is_root = communicator.rank == call.root;
  const bool sends = call.function != abi::kRecv &&
                     !(call.function == abi::kBroadcast && !is_root) &&
                     !(call.function == abi::kScatter && !is_root);
  const bool receives = call.function != abi::kSend &&
                        !(call.function == abi::kReduce && !is_root) &&
                        !(call.function == abi::kGather && !is_root);
  if (sends) {
    BRAID_NCCL_TRY(check_pointer(call, communicator, call.send, "sendbuff"));
  }
  return receives ? check_pointer(call, communicator, call.receive, "recvbuff") : ncclSuccess;
}

ncclResult_t check_operator(const Call& call, Communicator& communicator) {
  if (!is_reducing(call.function)) {
    return ncclSuccess;
  }
  if (static_cast<int>(call.op) < 0) {
    return reject(ncclInvalidArgument, "%s : invalid reduction operation %d", call.name,
                  static_cast<int>(call.op));
  }
  if (call.op < ncclNumOps) {
    return ncclSuccess;
  }
  std::lock_guard lock(communicator.mutex);
  const auto made = communicator.operators.find(static_cast<int>(call.op));
  if (made == communicator.operators.end()) {
    return reject(ncclInvalidArgument, "%s : reduction operation %d unknown to this communicator",
                  call.name, static_cast<int>(call.op));
  }
  if (made->second.datatype != call.datatype) {
    return reject(ncclInvalidArgument,
                  "%s : invalid reduction operation %d: it was made for %s, not for %s", call.name,
                  static_cast<int>(call.op), name_of(made->second.datatype),
                  name_of(call.datatype));
  }
  return ncclSuccess;
}

ncclResult_t check_arguments(const Call& call, Communicator& communicator) {
  const bool message = is_message(call.function);
  if ((has_root(call.function) || message) && (call.root < 0 || call.root >= communicator.ranks)) {
    return reject(ncclInvalidArgument, "%s : invalid %s %d (it should be in the 0..%d range)",
                  call.name, message ? "peer" : "root", call.root, communicator.ranks - 1);
  }
  if (!is_valid(call.datatype)) {
    return reject(ncclInvalidArgument, "%s : invalid type %d", call.name,
                  static_cast<int>(call.datatype));
  }
  const size_t limit =
      SIZE_MAX / 2 / static_cast<size_t>(communicator.ranks) / bytes_of(call.datatype);
  if (call.count > limit) {
    return reject(ncclInvalidArgument, "%s : count %zu of %s is more than memory can hold",
                  call.name, call.count, name_of(call.datatype));
  }
  BRAID_NCCL_TRY(check_operator(call, communicator));
  return check_pointers(call, communicator);
}

CollectiveOperation collective_from(const Call& call, Communicator& communicator) {
  CollectiveOperation operation;
  operation.function = call.function;
  operation.send = call.send;
  operation.receive = call.receive;
  operation.count = call.count;
  operation.datatype = call.datatype;
  operation.root = has_root(call.function) ? call.root : 0;
  if (!is_reducing(call.function)) {
    return operation;
  }
  switch (static_cast<int>(call.op)) {
    case ncclSum:
      operation.operation = ReductionKind::kSum;
      break;
    case ncclProd:
      operation.operation = ReductionKind::kProduct;
      break;
    case ncclMax:
      operation.operation = ReductionKind::kMax;
      break;
    case ncclMin:
      operation.operation = ReductionKind::kMin;
      break;
    case ncclAvg:
      operation.operation = ReductionKind::kAverage;
      operation.scalar.scalar = average_scalar(call.datatype, communicator.ranks);
      break;
    default: {
      std::lock_guard lock(communicator.mutex);
      operation.operation = ReductionKind::kPreMultiplied;
      operation.scalar = communicator.operators.at(static_cast<int>(call.op));
    }
  }
  return operation;
}

/// Adds messages to the group for a call; AlltoAll, Gather and Scatter are made of them.
class MessageBuilder {
 public:
  MessageBuilder(const Call& call, const CommunicatorRef& communicator, void* api_event)
      : call_(call),
        communicator_(communicator),
        api_event_(api_event),
        block_(call.count * bytes_of(call.datatype)) {}

  void send(int peer, size_t block) const {
    add(true, peer,
        const_cast<std::byte*>(static_cast<const std::byte*>(call_.send)) + block * block_);
  }
  void receive(int peer, size_t block) const {
    add(false, peer, static_cast<std::byte*>(call_.receive) + block * block_);
  }

  void build() const {
    const int ranks = communicator_->ranks;
    const bool is_root = communicator_->rank == call_.root;
    for (int peer = 0; peer < ranks && call_.function == abi::kAllToAll; ++peer) {
      send(peer, static_cast<size_t>(peer));
      receive(peer, static_cast<size_t>(peer));
    }
    for (int peer = 0; peer < ranks && call_.function == abi::kGather && is_root; ++peer) {
      receive(peer, static_cast<size_t>(peer));
    }
    for (int peer = 0; peer < ranks && call_.function == abi::kScatter && is_root; ++peer) {
      send(peer, static_cast<size_t>(peer));
    }
    if (call_.function == abi::kGather || call_.function == abi::kSend) {
      send(call_.root, 0);
    }
    if (call_.function == abi::kScatter || call_.function == abi::kRecv) {
      receive(call_.root, 0);
    }
  }

 private:
  void add(bool is_send, int peer, void* buffer) const {
    MessageOperation message;
    message.is_send = is_send;
    message.buffer = buffer;
    message.count = call_.count;
    message.bytes = block_;
    message.datatype = call_.datatype;
    message.peer = peer;
    message.api_event = api_event_;
    add_message(communicator_, message, reinterpret_cast<CUstream>(call_.stream));
  }

  const Call& call_;
  const CommunicatorRef& communicator_;
  void* api_event_;
  size_t block_;
};

void* start_api_event(const Call& call, const CommunicatorRef& communicator) {
  if (communicator->profiler == nullptr) {
    return nullptr;
  }
  EventFacts facts;
  facts.kind = is_message(call.function) ? abi::kEventPointToPointApi : abi::kEventCollectiveApi;
  facts.parent = group_api_event(communicator);
  facts.function = call.function;
  facts.count = call.count;
  facts.datatype = call.datatype;
  facts.root = call.root;
  facts.stream = call.stream;
  return communicator->profiler->start(facts);
}

ncclResult_t append_call(const Call& call, const CommunicatorRef& communicator) {
  BRAID_NCCL_TRY(check_arguments(call, *communicator));
  BRAID_NCCL_INFO(abi::kLogCollective,
                  "%s: sendbuff %p recvbuff %p count %zu datatype %d op %d root %d comm %p "
                  "[nranks=%d] stream %p",
                  name_of(call.function), call.send, call.receive, call.count,
                  static_cast<int>(call.datatype), static_cast<int>(call.op), call.root,
                  static_cast<void*>(communicator.get()), communicator->ranks,
                  static_cast<void*>(call.stream));
  if (call.count == 0 && !is_message(call.function)) {
    return ncclSuccess;  // a collective of nothing does nothing; an empty message is one
  }
  void* event = start_api_event(call, communicator);
  const bool is_collective = call.function <= abi::kAllReduce;
  if (is_collective) {
    CollectiveOperation operation = collective_from(call, *communicator);
    operation.api_event = event;
    add_collective(communicator, operation, reinterpret_cast<CUstream>(call.stream));
  } else {
    MessageBuilder(call, communicator, event).build();
  }
  if (communicator->profiler != nullptr) {
    communicator->profiler->stop(event);
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t make_call(const Call& call) {
  open_group();
  CommunicatorRef communicator;
  ncclResult_t result = find_ready_communicator(call.communicator, call.name, &communicator);
  if (result == ncclSuccess) {
    result = append_call(call, communicator);
  }
  note_group_error(result);
  const bool outermost = group_depth() == 1;
  const ncclResult_t closed = close_group();
  if (result != ncclSuccess) {
    return result;
  }
  if (outermost && !communicator->config.blocking && closed == ncclInProgress) {
    ncclResult_t state = ncclInternalError;
    BRAID_NCCL_TRY(ncclCommGetAsyncError(call.communicator, &state));
    return state;
  }
  return closed;
}

}  // namespace braid::vgpu::nccl
