#include <memory>

#include "config/diagnostics.hpp"
#include "interposer/execute/producer.hpp"
#include "interposer/execute/record_calls.hpp"
#include "interposer/hooks/nccl.hpp"
#include "interposer/hooks/nccl_groups.hpp"
#include "interposer/metrics.hpp"
#include "interposer/planner.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"
#include "interposer/settings.hpp"
#include "interposer/stream_ledger.hpp"

namespace braid::interposer {
namespace {

using Function = model::trace::CollectiveFunction;

CollectiveCall describe(Function function, const void* send, void* receive, size_t count,
                        ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t communicator,
                        cudaStream_t stream) {
  CollectiveCall call;
  call.function = function;
  call.send = send;
  call.receive = receive;
  call.count = count;
  call.type = type;
  call.op = op;
  call.root = root;
  call.communicator = communicator;
  call.stream = reinterpret_cast<CUstream>(stream);
  return call;
}

bool is_point_to_point(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}

// Looks whether the call reads the output of a GEMM, and remembers the pair.
void learn_pair(CommunicatorState& state, const CollectiveCall& call, const Signature& signature) {
  if (call.function != Function::kAllReduce || signature.op == kUserOp) {
    return;
  }
  const auto shape =
      PairLearner::instance().match(state.device, call.input(), {state.id, signature});
  if (shape) {
    state.observe_pair(signature, *shape);
  }
}

// The call as it stands.
template <typename Call>
ncclResult_t make_whole(const CommunicatorState* state, const CollectiveCall& call,
                        const Call& real_call) {
  record_collective(state, call, false);
  ncclResult_t result = ncclSuccess;
  {
    RealCallGuard guard;
    result = real_call();
  }
  StreamLedger::instance().note_work(call.stream);
  if (thread_state().group_depth > 0) {
    note_grouped_work(call.stream);
  }
  return result;
}

template <typename Call>
ncclResult_t carry_out(const CollectiveCall& call, const Call& real_call) {
  const std::shared_ptr<CommunicatorState> state =
      CommunicatorRegistry::instance().find(call.communicator);
  if (state == nullptr || is_point_to_point(call.function)) {
    return make_whole(state.get(), call, real_call);
  }
  refresh_metrics();
  const bool grouped = thread_state().group_depth > 0;
  const Signature signature = call.signature();
  bool lost = false;
  const std::shared_ptr<const PlanEntry> plan = state->take_plan(signature, &lost);
  if (lost) {
    BRAID_LOG_FIRST(
        4, kWarn, Agreement, "nccl",
        "the side channel of a communicator broke: what its other ranks do is not known, "
        "so its collectives fail from here on");
    return ncclRemoteError;
  }
  if (grouped) {
    note_grouped_count(state);
  }
  if (state->active) {
    learn_pair(*state, call, signature);
  }
  if (plan == nullptr && may_rewrite()) {
    refusals().count(state->active ? state->reason_for_whole(signature) : state->stock_reason);
  }
  if (grouped && (plan != nullptr || is_deferring(*state))) {
    record_collective(state.get(), call, plan != nullptr);
    defer_to_group_end(state, call, plan, real_call);
    return ncclSuccess;
  }
  if (plan == nullptr) {
    const ncclResult_t result = make_whole(state.get(), call, real_call);
    // A call NCCL refused was not made, and the other ranks may not even have tried.
    if (result != ncclSuccess && result != ncclInProgress && !grouped) {
      state->uncount(1);
    }
    return result;
  }
  record_collective(state.get(), call, true);
  const ncclResult_t result = execute_in_parts(*state, call, *plan);
  StreamLedger::instance().note_work(call.stream);
  if (result == ncclInvalidArgument) {
    state->uncount(1);  // refused before the first part
  }
  return result;
}

}  // namespace

namespace hooks {

#define BRAID_REAL(name)                                             \
  static RealFunction<decltype(::name)> real(Library::kNccl, #name); \
  auto* function = real.get();                                       \
  if (function == nullptr) {                                         \
    return report_missing(#name);                                    \
  }

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  BRAID_REAL(ncclAllReduce)
  return carry_out(
      describe(Function::kAllReduce, sendbuff, recvbuff, count, datatype, op, 0, comm, stream),
      [=] { return function(sendbuff, recvbuff, count, datatype, op, comm, stream); });
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  BRAID_REAL(ncclAllGather)
  return carry_out(describe(Function::kAllGather, sendbuff, recvbuff, sendcount, datatype, ncclSum,
                            0, comm, stream),
                   [=] { return function(sendbuff, recvbuff, sendcount, datatype, comm, stream); });
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  BRAID_REAL(ncclReduceScatter)
  return carry_out(
      describe(Function::kReduceScatter, sendbuff, recvbuff, recvcount, datatype, op, 0, comm,
               stream),
      [=] { return function(sendbuff, recvbuff, recvcount, datatype, op, comm, stream); });
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  BRAID_REAL(ncclReduce)
  return carry_out(
      describe(Function::kReduce, sendbuff, recvbuff, count, datatype, op, root, comm, stream),
      [=] { return function(sendbuff, recvbuff, count, datatype, op, root, comm, stream); });
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  BRAID_REAL(ncclBroadcast)
  return carry_out(
      describe(Function::kBroadcast, sendbuff, recvbuff, count, datatype, ncclSum, root, comm,
               stream),
      [=] { return function(sendbuff, recvbuff, count, datatype, root, comm, stream); });
}

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  BRAID_REAL(ncclBcast)
  return carry_out(
      describe(Function::kBroadcast, buff, buff, count, datatype, ncclSum, root, comm, stream),
      [=] { return function(buff, count, datatype, root, comm, stream); });
}

ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  BRAID_REAL(ncclAlltoAll)
  return carry_out(
      describe(Function::kAllToAll, sendbuff, recvbuff, count, datatype, ncclSum, 0, comm, stream),
      [=] { return function(sendbuff, recvbuff, count, datatype, comm, stream); });
}

ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  BRAID_REAL(ncclGather)
  return carry_out(
      describe(Function::kGather, sendbuff, recvbuff, count, datatype, ncclSum, root, comm, stream),
      [=] { return function(sendbuff, recvbuff, count, datatype, root, comm, stream); });
}

ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  BRAID_REAL(ncclScatter)
  return carry_out(
      describe(Function::kScatter, sendbuff, recvbuff, count, datatype, ncclSum, root, comm,
               stream),
      [=] { return function(sendbuff, recvbuff, count, datatype, root, comm, stream); });
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  BRAID_REAL(ncclSend)
  return carry_out(
      describe(Function::kSend, sendbuff, nullptr, count, datatype, ncclSum, peer, comm, stream),
      [=] { return function(sendbuff, count, datatype, peer, comm, stream); });
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  BRAID_REAL(ncclRecv)
  return carry_out(
      describe(Function::kRecv, nullptr, recvbuff, count, datatype, ncclSum, peer, comm, stream),
      [=] { return function(recvbuff, count, datatype, peer, comm, stream); });
}

#undef BRAID_REAL

}  // namespace hooks
}  // namespace braid::interposer
