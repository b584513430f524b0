#include "interposer/hooks/gemm_call.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "config/digest.hpp"
#include "config/policy.hpp"
#include "interposer/call_site.hpp"
#include "interposer/communicator.hpp"
#include "interposer/driver_api.hpp"
#include "interposer/execute/record_calls.hpp"
#include "interposer/hooks/coverage.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"
#include "interposer/recorder.hpp"
#include "interposer/settings.hpp"
#include "interposer/stream_ledger.hpp"

namespace braid::interposer {
namespace trace = model::trace;
namespace {

struct Workspaces {
  std::mutex mutex;
  std::unordered_map<cublasHandle_t, MemoryRange> by_handle;
};

Workspaces& workspaces() {
  static auto* instance = new Workspaces();  // never destroyed: hooks run until the very end
  return *instance;
}

trace::ElementType element_type_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return trace::ElementType::kFp16;
    case CUDA_R_16BF:
      return trace::ElementType::kBf16;
    case CUDA_R_64F:
      return trace::ElementType::kFp64;
    case CUDA_R_8I:
      return trace::ElementType::kInt8;
    case CUDA_R_32I:
      return trace::ElementType::kInt32;
    case CUDA_R_8F_E4M3:
      return trace::ElementType::kFp8E4m3;
    case CUDA_R_8F_E5M2:
      return trace::ElementType::kFp8E5m2;
    default:
      return trace::ElementType::kFp32;
  }
}

// Everything that tells this GEMM's call apart from another's, but for the addresses.
uint64_t key_of(const GemmCall& call) {
  config::Digest digest;
  digest.add(call.function).add(call.m).add(call.n).add(call.k).add(call.lda).add(call.ldb);
  digest.add(call.ldc).add(call.transpose_a).add(call.transpose_b);
  digest.add(call.type_a).add(call.type_b).add(call.type_c);
  return digest.value();
}

MemoryRange output_of(const GemmCall& call) {
  return extent_of_matrix(call.c, call.m, call.n, call.ldc, bytes_of(call.type_c));
}

std::vector<MemoryRange> operands_of(const GemmCall& call) {
  const bool a_plain = call.transpose_a == CUBLAS_OP_N;
  const bool b_plain = call.transpose_b == CUBLAS_OP_N;
  std::vector<MemoryRange> ranges{
      extent_of_matrix(call.a, a_plain ? call.m : call.k, a_plain ? call.k : call.m, call.lda,
                       bytes_of(call.type_a)),
      extent_of_matrix(call.b, b_plain ? call.k : call.n, b_plain ? call.n : call.k, call.ldb,
                       bytes_of(call.type_b)),
  };
  // Scalars may live on the device; in host mode these addresses overlap nothing of the device's.
  for (const void* scalar : {call.alpha, call.beta}) {
    const auto begin = reinterpret_cast<uint64_t>(scalar);
    ranges.push_back({begin, begin + call.scalar_bytes});
  }
  Workspaces& all = workspaces();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (const auto it = all.by_handle.find(call.handle); it != all.by_handle.end()) {
    ranges.push_back(it->second);
  }
  return ranges;
}

void record_gemm(const GemmCall& call, CUstream stream, int64_t columns, const void* c,
                 uint16_t flags, uint32_t part) {
  Recorder& recorder = Recorder::instance();
  if (!recorder.is_enabled()) {
    return;
  }
  const StreamIdentity identity = StreamLedger::instance().identify(stream);
  const uint64_t bytes = bytes_of(call.type_c);
  trace::Gemm record{};
  record.m = static_cast<uint64_t>(columns);
  record.n = static_cast<uint64_t>(call.m);
  record.k = static_cast<uint64_t>(call.k);
  record.batch = 1;
  record.output_address = reinterpret_cast<uint64_t>(c);
  record.output_bytes =
      extent_of_matrix(c, call.m, columns, call.ldc, bytes).end - record.output_address;
  record.type = static_cast<uint32_t>(element_type_of(call.type_a));
  record.output_type = static_cast<uint32_t>(element_type_of(call.type_c));
  record.epilogue = 1;  // CUBLASLT_EPILOGUE_DEFAULT
  record.call_site = static_cast<uint32_t>(find_call_site(call.return_address));
  record.part = part;
  recorder.record(identity.device, trace::RecordType::kGemm, flags, identity.id, record);
}

const void* columns_of_b(const GemmCall& call, int64_t first) {
  const int64_t step = call.transpose_b == CUBLAS_OP_N ? call.ldb : 1;
  return static_cast<const char*>(call.b) +
         static_cast<uint64_t>(first * step) * bytes_of(call.type_b);
}

void* columns_of_c(const GemmCall& call, int64_t first) {
  return static_cast<char*>(call.c) +
         static_cast<uint64_t>(first * call.ldc) * bytes_of(call.type_c);
}

// A library may need, or choose a faster kernel for, operands aligned to 16 bytes: a part must not
// be worse off than the whole.
bool keeps_alignment(const GemmCall& call, int64_t first) {
  const auto misalignment = [](const void* a, const void* b) {
    return (reinterpret_cast<uint64_t>(a) ^ reinterpret_cast<uint64_t>(b)) % 16;
  };
  return misalignment(call.b, columns_of_b(call, first)) == 0 &&
         misalignment(call.c, columns_of_c(call, first)) == 0;
}

// Where to cut, in columns: the boundaries of the agreed collective, if they are whole rows of this
// output. Empty: run whole.
std::vector<int64_t> find_cuts(const GemmCall& call, CUstream stream, int device,
                               std::vector<uint64_t>* boundaries) {
  const auto pair = PairLearner::instance().predict(device, key_of(call));
  if (!pair || !is_coverage_complete() || !may_split_gemms()) {
    return {};
  }
  const auto state = CommunicatorRegistry::instance().find_by_id(pair->communicator);
  const auto plan = state != nullptr ? state->peek_plan(pair->signature) : nullptr;
  const auto elements = static_cast<uint64_t>(call.m) * static_cast<uint64_t>(call.n);
  if (plan == nullptr || plan->signature.count != elements || call.ldc != call.m ||
      is_capturing(stream)) {
    return {};
  }
  std::vector<int64_t> cuts;
  for (const uint64_t boundary : plan->boundaries) {
    if (boundary % static_cast<uint64_t>(call.m) != 0) {
      return {};
    }
    cuts.push_back(static_cast<int64_t>(boundary / static_cast<uint64_t>(call.m)));
    if (!keeps_alignment(call, cuts.back())) {
      return {};
    }
  }
  *boundaries = plan->boundaries;
  return cuts;
}

std::shared_ptr<SplitGemm> prepare_split(const GemmCall& call, CUstream stream, int device,
                                         std::vector<uint64_t> boundaries) {
  auto split = std::make_shared<SplitGemm>();
  split->device = device;
  split->stream = stream;
  split->output = output_of(call);
  split->operands = operands_of(call);
  split->boundaries = std::move(boundaries);
  for (size_t part = 0; part + 1 < split->boundaries.size(); ++part) {
    CUevent event = EventPool::acquire(device, stream);
    if (event == nullptr) {
      return nullptr;
    }
    split->events.push_back(event);
  }
  return split;
}

}  // namespace

uint64_t bytes_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 4;
  }
}

MemoryRange extent_of_matrix(const void* base, int64_t rows, int64_t columns, int64_t leading,
                             uint64_t element_bytes) {
  const auto begin = reinterpret_cast<uint64_t>(base);
  if (rows <= 0 || columns <= 0) {
    return {begin, begin};
  }
  const auto elements = static_cast<uint64_t>((columns - 1) * leading + rows);
  return {begin, begin + elements * element_bytes};
}

CUstream stream_of(cublasHandle_t handle) {
  static RealFunction<cublasStatus_t(cublasHandle_t, cudaStream_t*)> real(Library::kCublas,
                                                                          "cublasGetStream_v2");
  cudaStream_t stream = nullptr;
  RealCallGuard guard;
  if (auto* function = real.get(); function != nullptr) {
    function(handle, &stream);
  }
  return reinterpret_cast<CUstream>(stream);
}

void note_workspace(cublasHandle_t handle, void* workspace, uint64_t bytes) {
  Workspaces& all = workspaces();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto begin = reinterpret_cast<uint64_t>(workspace);
  all.by_handle[handle] = {begin, begin + bytes};
}

namespace {

cublasStatus_t carry_out(const GemmCall& call, const IssueColumns& issue) {
  const CUstream stream = stream_of(call.handle);
  const int device = StreamLedger::instance().identify(stream).device;
  StreamLedger& ledger = StreamLedger::instance();
  std::vector<uint64_t> boundaries;
  std::vector<int64_t> cuts;
  std::shared_ptr<SplitGemm> split;
  if (call.m > 0 && call.n > 0 && call.k > 0) {
    cuts = find_cuts(call, stream, device, &boundaries);
    split = cuts.size() > 2 ? prepare_split(call, stream, device, boundaries) : nullptr;
  }

  const StreamMark begin = ledger.mark(stream);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  if (split == nullptr) {
    {
      RealCallGuard guard;
      status = issue(0, call.n, call.b, call.c);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
      record_gemm(call, stream, call.n, call.c, 0, 0);
    }
  } else {
    record_gemm(call, stream, call.n, call.c, trace::kUserCall, 0);
    const DriverApi* driver = driver_api();
    for (size_t part = 0; part + 1 < cuts.size() && status == CUBLAS_STATUS_SUCCESS; ++part) {
      const int64_t first = cuts[part];
      const int64_t count = cuts[part + 1] - first;
      {
        RealCallGuard guard;
        status = issue(first, count, columns_of_b(call, first), columns_of_c(call, first));
        // Without its event nothing may start early; the GEMM itself is complete all the same.
        if (status == CUBLAS_STATUS_SUCCESS && split != nullptr &&
            driver->event_record(split->events[part], stream) != CUDA_SUCCESS) {
          split = nullptr;
        }
      }
      if (status == CUBLAS_STATUS_SUCCESS) {
        record_gemm(call, stream, count, columns_of_c(call, first), trace::kIssuedByBraid,
                    static_cast<uint32_t>(part));
        if (split != nullptr) {
          record_event_record(stream, split->events[part]);
        }
      }
    }
  }
  ledger.note_gemm(stream, begin, status == CUBLAS_STATUS_SUCCESS ? split : nullptr);
  if (call.ldc == call.m && status == CUBLAS_STATUS_SUCCESS) {
    const GemmShape shape{static_cast<uint64_t>(call.n), static_cast<uint64_t>(call.m),
                          static_cast<uint64_t>(call.k),
                          static_cast<uint32_t>(element_type_of(call.type_a)),
                          static_cast<uint32_t>(element_type_of(call.type_c))};
    PairLearner::instance().note_gemm(device, key_of(call), shape, output_of(call));
  }
  return status;
}

}  // namespace

cublasStatus_t carry_out_gemm(const GemmCall& call, const IssueColumns& issue) {
  try {
    return carry_out(call, issue);
  } catch (...) {
    return CUBLAS_STATUS_ALLOC_FAILED;  // nothing but memory can fail so; it must not leave through
                                        // C
  }
}

namespace {

void note_whole(const WholeGemm& gemm) {
  StreamLedger& ledger = StreamLedger::instance();
  ledger.note_gemm(gemm.stream, ledger.mark(gemm.stream), nullptr);
  Recorder& recorder = Recorder::instance();
  if (!recorder.is_enabled()) {
    return;
  }
  const StreamIdentity identity = ledger.identify(gemm.stream);
  trace::Gemm record{};
  record.m = gemm.n;
  record.n = gemm.m;
  record.k = gemm.k;
  record.batch = gemm.batch;
  record.output_address = reinterpret_cast<uint64_t>(gemm.c);
  record.output_bytes = gemm.m * gemm.n * gemm.batch * bytes_of(gemm.output_type);
  record.type = static_cast<uint32_t>(element_type_of(gemm.type));
  record.output_type = static_cast<uint32_t>(element_type_of(gemm.output_type));
  record.epilogue = gemm.epilogue;
  record.call_site = static_cast<uint32_t>(find_call_site(gemm.return_address));
  recorder.record(identity.device, trace::RecordType::kGemm, 0, identity.id, record);
}

}  // namespace

void note_whole_gemm(const WholeGemm& gemm) {
  try {
    note_whole(gemm);
  } catch (...) {
    StreamLedger::instance().note_unknown_work();  // no memory to note it by
  }
}

}  // namespace braid::interposer
