#include "vgpu/nccl/operation.hpp"

namespace braid::vgpu::nccl {

BufferSizes buffer_sizes(const CollectiveOperation& operation, int rank, int ranks) {
  const size_t block = operation.count * bytes_of(operation.datatype);
  const size_t whole = block * static_cast<size_t>(ranks);
  const bool is_root = rank == operation.root;
  switch (operation.function) {
    case abi::kAllGather:
      return {block, whole};
    case abi::kReduceScatter:
      return {whole, block};
    case abi::kBroadcast:
      return {is_root ? block : 0, block};
    case abi::kReduce:
      return {block, is_root ? block : 0};
    default:
      return {block, block};
  }
}

size_t model_bytes(const CollectiveOperation& operation, int ranks) {
  const bool scaled =
      operation.function == abi::kAllGather || operation.function == abi::kReduceScatter;
  return operation.count * bytes_of(operation.datatype) *
         (scaled ? static_cast<size_t>(ranks) : size_t{1});
}

config::Collective model_collective(abi::Function function) {
  switch (function) {
    case abi::kBroadcast:
      return config::Collective::kBroadcast;
    case abi::kReduce:
      return config::Collective::kReduce;
    case abi::kAllGather:
      return config::Collective::kAllGather;
    case abi::kReduceScatter:
      return config::Collective::kReduceScatter;
    default:
      return config::Collective::kAllReduce;
  }
}

bool is_reducing(abi::Function function) {
  return function == abi::kAllReduce || function == abi::kReduceScatter || function == abi::kReduce;
}

}  // namespace braid::vgpu::nccl
