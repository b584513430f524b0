// Exported functions that make, end and describe communicators.
#include <set>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/nccl/api.hpp"
#include "vgpu/nccl/device_scope.hpp"
#include "vgpu/nccl/group.hpp"
#include "vgpu/nccl/initialization.hpp"
#include "vgpu/nccl/lifecycle.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/settings.hpp"

namespace nccl = braid::vgpu::nccl;

namespace {

/// As the real library, every initialisation asks for the version through the exported name; rank 0
/// shows it.
void announce_version(int rank) {
  int version = 0;
  ncclGetVersion(&version);
  if (rank == 0) {
    nccl::write_log(braid::abi::kLogVersion, braid::abi::kLogAll, __FILE__, __LINE__,
                    "NCCL version %d.%d.%d (virtual GPUs)", version / 10000, version / 100 % 100,
                    version % 100);
  }
}

ncclResult_t get(ncclComm_t comm, const char* function, int* value,
                 int nccl::Communicator::*field) {
  nccl::CommunicatorRef communicator;
  BRAID_NCCL_TRY(nccl::find_communicator(comm, function, &communicator));
  if (value == nullptr) {
    return nccl::reject(ncclInvalidArgument, "%s : result argument is NULL", function);
  }
  const ncclResult_t state = communicator->async_result.load();
  if (state == ncclInProgress) {
    return nccl::reject(ncclInvalidArgument,
                        "%s : Attempt to use communicator before the previous operation returned "
                        "ncclSuccess",
                        function);
  }
  *value = (*communicator).*field;
  return ncclSuccess;
}

}  // namespace

BRAID_NCCL_API(ncclResult_t, ncclGetUniqueId, ncclUniqueId* uniqueId) {
  if (uniqueId == nullptr) {
    return nccl::reject(ncclInvalidArgument, "GetUniqueId : uniqueId argument is NULL");
  }
  nccl::make_unique_id(uniqueId);
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclCommInitRankConfig, ncclComm_t* comm, int nranks,
               ncclUniqueId commId, int rank, ncclConfig_t* config) {
  announce_version(rank);
  return nccl::initialize_rank("ncclCommInitRankConfig", comm, nranks, commId, rank,
                               braid::vgpu::current_device(), config);
}

BRAID_NCCL_API(ncclResult_t, ncclCommInitRank, ncclComm_t* comm, int nranks, ncclUniqueId commId,
               int rank) {
  announce_version(rank);
  return nccl::initialize_rank("ncclCommInitRank", comm, nranks, commId, rank,
                               braid::vgpu::current_device(), nullptr);
}

BRAID_NCCL_API(ncclResult_t, ncclCommInitRankScalable, ncclComm_t* newcomm, int nranks, int myrank,
               int nId, ncclUniqueId* commIds, ncclConfig_t* config) {
  announce_version(myrank);
  if (commIds == nullptr || nId < 1 || nId > nranks) {
    return nccl::reject(ncclInvalidArgument,
                        "ncclCommInitRankScalable : %d ids at %p for %d ranks (expected 1 to the "
                        "number of ranks)",
                        nId, static_cast<void*>(commIds), nranks);
  }
  return nccl::initialize_rank("ncclCommInitRankScalable", newcomm, nranks, commIds[0], myrank,
                               braid::vgpu::current_device(), config);
}

BRAID_NCCL_API(ncclResult_t, ncclCommInitAll, ncclComm_t* comm, int ndev, const int* devlist) {
  announce_version(0);
  if (comm == nullptr || ndev < 1) {
    return nccl::reject(ncclInvalidArgument, "CommInitAll : comm %p, %d devices",
                        static_cast<void*>(comm), ndev);
  }
  const auto available = static_cast<int>(braid::vgpu::devices().size());
  std::set<int> seen;
  for (int i = 0; i < ndev; ++i) {
    const int device = devlist != nullptr ? devlist[i] : i;
    if (device < 0 || device >= available) {
      return nccl::reject(ncclInvalidArgument, "CommInitAll : device %d of %d does not exist",
                          device, available);
    }
    if (!seen.insert(device).second) {
      return nccl::reject(ncclInvalidUsage, "CommInitAll : device %d is listed twice", device);
    }
  }
  ncclUniqueId id;
  BRAID_NCCL_TRY(ncclGetUniqueId(&id));
  nccl::open_group();
  ncclResult_t result = ncclSuccess;
  for (int i = 0; i < ndev && result == ncclSuccess; ++i) {
    const int device = devlist != nullptr ? devlist[i] : i;
    result = nccl::initialize_rank("ncclCommInitAll", &comm[i], ndev, id, i, device, nullptr);
    nccl::note_group_error(result);
  }
  const ncclResult_t closed = nccl::close_group();
  return result != ncclSuccess ? result : closed;
}

BRAID_NCCL_API(ncclResult_t, ncclCommSplit, ncclComm_t comm, int color, int key,
               ncclComm_t* newcomm, ncclConfig_t* config) {
  announce_version(-1);
  return nccl::split(comm, color, key, newcomm, config);
}

BRAID_NCCL_API(ncclResult_t, ncclCommShrink, ncclComm_t comm, int* excludeRanksList,
               int excludeRanksCount, ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags) {
  announce_version(-1);
  return nccl::shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags);
}

BRAID_NCCL_API(ncclResult_t, ncclCommFinalize, ncclComm_t comm) { return nccl::finalize(comm); }

BRAID_NCCL_API(ncclResult_t, ncclCommDestroy, ncclComm_t comm) { return nccl::destroy(comm); }

BRAID_NCCL_API(ncclResult_t, ncclCommAbort, ncclComm_t comm) { return nccl::abort(comm); }

BRAID_NCCL_API(ncclResult_t, ncclCommRevoke, ncclComm_t comm, int revokeFlags) {
  return nccl::revoke(comm, revokeFlags);
}

BRAID_NCCL_API(ncclResult_t, ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t* asyncError) {
  nccl::CommunicatorRef communicator;
  BRAID_NCCL_TRY(nccl::find_communicator(comm, "ncclGetAsyncError", &communicator));
  if (asyncError == nullptr) {
    return nccl::reject(ncclInvalidArgument, "ncclGetAsyncError : asyncError argument is NULL");
  }
  *asyncError = communicator->async_result.load();
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclCommCount, const ncclComm_t comm, int* count) {
  return get(comm, "CommCount", count, &nccl::Communicator::ranks);
}

BRAID_NCCL_API(ncclResult_t, ncclCommCuDevice, const ncclComm_t comm, int* device) {
  return get(comm, "CommCuDevice", device, &nccl::Communicator::device);
}

BRAID_NCCL_API(ncclResult_t, ncclCommUserRank, const ncclComm_t comm, int* rank) {
  return get(comm, "CommUserRank", rank, &nccl::Communicator::rank);
}
