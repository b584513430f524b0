// Exported functions that move data.
#include "vgpu/nccl/api.hpp"
#include "vgpu/nccl/calls.hpp"

using braid::vgpu::nccl::Call;
using braid::vgpu::nccl::make_call;
namespace abi = braid::abi;

BRAID_NCCL_API(ncclResult_t, ncclAllReduce, const void* sendbuff, void* recvbuff, size_t count,
               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return make_call(
      Call{abi::kAllReduce, "AllReduce", sendbuff, recvbuff, count, datatype, op, 0, comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclAllGather, const void* sendbuff, void* recvbuff, size_t sendcount,
               ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return make_call(Call{abi::kAllGather, "AllGather", sendbuff, recvbuff, sendcount, datatype,
                        ncclSum, 0, comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclReduceScatter, const void* sendbuff, void* recvbuff,
               size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
               cudaStream_t stream) {
  return make_call(Call{abi::kReduceScatter, "ReduceScatter", sendbuff, recvbuff, recvcount,
                        datatype, op, 0, comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclReduce, const void* sendbuff, void* recvbuff, size_t count,
               ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
               cudaStream_t stream) {
  return make_call(
      Call{abi::kReduce, "Reduce", sendbuff, recvbuff, count, datatype, op, root, comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclBroadcast, const void* sendbuff, void* recvbuff, size_t count,
               ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return make_call(Call{abi::kBroadcast, "Broadcast", sendbuff, recvbuff, count, datatype, ncclSum,
                        root, comm, stream});
}

// As the real one, through the exported name: an interposer sees both.
BRAID_NCCL_API(ncclResult_t, ncclBcast, void* buff, size_t count, ncclDataType_t datatype, int root,
               ncclComm_t comm, cudaStream_t stream) {
  return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

BRAID_NCCL_API(ncclResult_t, ncclAlltoAll, const void* sendbuff, void* recvbuff, size_t count,
               ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return make_call(Call{abi::kAllToAll, "AlltoAll", sendbuff, recvbuff, count, datatype, ncclSum, 0,
                        comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclGather, const void* sendbuff, void* recvbuff, size_t count,
               ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return make_call(Call{abi::kGather, "Gather", sendbuff, recvbuff, count, datatype, ncclSum, root,
                        comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclScatter, const void* sendbuff, void* recvbuff, size_t count,
               ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return make_call(Call{abi::kScatter, "Scatter", sendbuff, recvbuff, count, datatype, ncclSum,
                        root, comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclSend, const void* sendbuff, size_t count, ncclDataType_t datatype,
               int peer, ncclComm_t comm, cudaStream_t stream) {
  return make_call(
      Call{abi::kSend, "Send", sendbuff, nullptr, count, datatype, ncclSum, peer, comm, stream});
}

BRAID_NCCL_API(ncclResult_t, ncclRecv, void* recvbuff, size_t count, ncclDataType_t datatype,
               int peer, ncclComm_t comm, cudaStream_t stream) {
  return make_call(
      Call{abi::kRecv, "Recv", nullptr, recvbuff, count, datatype, ncclSum, peer, comm, stream});
}
