#include "interposer/execute/collective_call.hpp"

#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"

namespace braid::interposer {
namespace trace = model::trace;

uint64_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

trace::ElementType element_type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return trace::ElementType::kInt8;
    case ncclUint8:
      return trace::ElementType::kUint8;
    case ncclInt32:
      return trace::ElementType::kInt32;
    case ncclUint32:
      return trace::ElementType::kUint32;
    case ncclInt64:
      return trace::ElementType::kInt64;
    case ncclUint64:
      return trace::ElementType::kUint64;
    case ncclFloat16:
      return trace::ElementType::kFp16;
    case ncclFloat64:
      return trace::ElementType::kFp64;
    case ncclBfloat16:
      return trace::ElementType::kBf16;
    case ncclFloat8e4m3:
      return trace::ElementType::kFp8E4m3;
    case ncclFloat8e5m2:
      return trace::ElementType::kFp8E5m2;
    default:
      return trace::ElementType::kFp32;
  }
}

uint64_t CollectiveCall::element_bytes() const { return bytes_of(type); }

Signature CollectiveCall::signature() const {
  Signature signature;
  signature.function = static_cast<uint32_t>(function);
  signature.type = static_cast<uint32_t>(type);
  signature.op =
      static_cast<int>(op) >= static_cast<int>(ncclNumOps) ? kUserOp : static_cast<uint32_t>(op);
  signature.root = root;
  signature.count = count;
  return signature;
}

MemoryRange CollectiveCall::input() const {
  const auto begin = reinterpret_cast<uint64_t>(send);
  return {begin, begin + count * element_bytes()};
}

MemoryRange CollectiveCall::output() const {
  const auto begin = reinterpret_cast<uint64_t>(receive);
  return {begin, begin + count * element_bytes()};
}

ncclResult_t call_all_reduce_part(const CollectiveCall& call, uint64_t begin, uint64_t end,
                                  CUstream stream) {
  static RealFunction<decltype(ncclAllReduce)> real(Library::kNccl, "ncclAllReduce");
  auto* function = real.get();
  if (function == nullptr) {
    return ncclSystemError;
  }
  const uint64_t offset = begin * call.element_bytes();
  RealCallGuard guard;
  return function(static_cast<const char*>(call.send) + offset,
                  static_cast<char*>(call.receive) + offset, end - begin, call.type, call.op,
                  call.communicator, reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace braid::interposer
