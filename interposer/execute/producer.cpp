#include "interposer/execute/producer.hpp"

#include <algorithm>

#include "config/diagnostics.hpp"
#include "interposer/driver_api.hpp"
#include "interposer/execute/record_calls.hpp"
#include "interposer/hooks/coverage.hpp"
#include "interposer/process_state.hpp"
#include "interposer/stream_ledger.hpp"

// The mutation tests build this file again with one of these set, and show that a test then fails.
#ifndef BRAID_MUTATE_SKIP_RULE_3
#define BRAID_MUTATE_SKIP_RULE_3 0
#endif
#ifndef BRAID_MUTATE_SKIP_PRIOR_WORK
#define BRAID_MUTATE_SKIP_PRIOR_WORK 0
#endif
#ifndef BRAID_MUTATE_SKIP_JOIN
#define BRAID_MUTATE_SKIP_JOIN 0
#endif

namespace braid::interposer {
namespace {

// The side stream of a communicator: highest priority, so that a waiting part gets its SMs before
// the GEMM's next wave; non-blocking, so that the legacy default stream does not order it.
CUstream side_stream_of(CommunicatorState& state, CUstream beside) {
  const DriverApi* driver = driver_api();
  if (state.side_stream == nullptr && driver != nullptr) {
    int least = 0;
    int greatest = 0;
    const StreamContext context(beside);
    RealCallGuard guard;
    driver->ctx_get_stream_priority_range(&least, &greatest);
    if (driver->stream_create_with_priority(&state.side_stream, CU_STREAM_NON_BLOCKING, greatest) !=
        CUDA_SUCCESS) {
      state.side_stream = nullptr;
    } else {
      StreamLedger::instance().adopt_own(state.side_stream);
    }
  }
  return state.side_stream;
}

ncclResult_t make_parts_in_order(CommunicatorState& state, const CollectiveCall& call,
                                 const PlanEntry& plan, uint32_t first) {
  for (uint32_t part = first; part < plan.parts(); ++part) {
    record_part(state, call, plan, part, call.stream);
    const ncclResult_t result =
        call_all_reduce_part(call, plan.boundaries[part], plan.boundaries[part + 1], call.stream);
    if (result != ncclSuccess) {
      return result;
    }
  }
  return ncclSuccess;
}

// The GEMM event after which elements up to `end` of the output are written.
CUevent event_covering(const SplitGemm& gemm, uint64_t end) {
  for (size_t part = 0; part + 1 < gemm.boundaries.size(); ++part) {
    if (gemm.boundaries[part + 1] >= end) {
      return gemm.events[part];
    }
  }
  return gemm.events.back();
}

ncclResult_t make_parts_early(CommunicatorState& state, const CollectiveCall& call,
                              const PlanEntry& plan, const EarlyStart& start, CUstream side,
                              CUevent join) {
  // What the collective's stream had waited for, but for the GEMM. Where the GEMM's own stream is
  // the caller's, the events of its parts stand for that.
  if (!BRAID_MUTATE_SKIP_PRIOR_WORK && start.before_wait != nullptr &&
      !enqueue_wait(side, start.before_wait)) {
    return make_parts_in_order(state, call, plan, 0);
  }
  ncclResult_t result = ncclSuccess;
  for (uint32_t part = 0; part < plan.parts() && result == ncclSuccess; ++part) {
    if (!enqueue_wait(side, event_covering(*start.gemm, plan.boundaries[part + 1]))) {
      // The agreed calls are made all the same: the other ranks make theirs.
      result = make_parts_in_order(state, call, plan, part);
      break;
    }
    record_part(state, call, plan, part, side);
    result = call_all_reduce_part(call, plan.boundaries[part], plan.boundaries[part + 1], side);
  }
  if (BRAID_MUTATE_SKIP_JOIN) {
    return result;
  }
  // Joined also after a failure: nothing of ours may run past the caller's next call.
  const bool joined = enqueue_event_record(side, join) && enqueue_wait(call.stream, join);
  return result == ncclSuccess && !joined ? ncclUnhandledCudaError : result;
}

}  // namespace

bool may_overtake(const SplitGemm& gemm, const CollectiveCall& call, Refusal* why) {
  const MemoryRange input = call.input();
  const MemoryRange output = call.output();
  if (input.begin != gemm.output.begin || input.end != gemm.output.end) {
    *why = Refusal::kOtherBuffer;
    return false;
  }
  if (BRAID_MUTATE_SKIP_RULE_3) {
    return true;
  }
  const bool in_place = output.begin == input.begin;
  const bool touches_operand =
      std::any_of(gemm.operands.begin(), gemm.operands.end(),
                  [&](const MemoryRange& operand) { return operand.overlaps(output); });
  if (touches_operand || (!in_place && output.overlaps(gemm.output))) {
    *why = Refusal::kMemoryOverlap;
    return false;
  }
  return true;
}

ncclResult_t execute_in_parts(CommunicatorState& state, const CollectiveCall& call,
                              const PlanEntry& plan, bool may_start_early) {
  Refusal why = Refusal::kResources;
  CUstream side = nullptr;
  CUevent join = nullptr;
  EarlyStart start;
  if (!may_start_early) {
    why = Refusal::kSeveralStreams;
  } else if (is_capturing(call.stream)) {
    why = Refusal::kCapture;
  } else if (is_default_stream(call.stream) && current_device() != state.device) {
    why = Refusal::kResources;  // the handle means another device's stream to NCCL than to us
  } else if (!is_coverage_complete()) {
    why = Refusal::kCoverage;
  } else {
    start = StreamLedger::instance().find_early_start(call.stream);
    if (start.gemm == nullptr) {
      why = start.refusal;
    } else if (start.gemm->device == state.device && may_overtake(*start.gemm, call, &why)) {
      side = side_stream_of(state, call.stream);
      join = EventPool::acquire(state.device, call.stream);
    }
  }
  const bool early = side != nullptr && join != nullptr;
  if (!early) {
    refusals().count(why);
  }
  record_rewrite(state, plan, early);
  const ncclResult_t result = early ? make_parts_early(state, call, plan, start, side, join)
                                    : make_parts_in_order(state, call, plan, 0);
  EventPool::release(state.device, join);
  if (result != ncclSuccess) {
    BRAID_WARN(Nccl, "producer", "an AllReduce in %u parts failed with NCCL error %d", plan.parts(),
               static_cast<int>(result));
  }
  return result;
}

}  // namespace braid::interposer
