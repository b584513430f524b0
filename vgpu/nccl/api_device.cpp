// Exported functions of nccl_device.h. There are no symmetric windows and no device communicators
// on virtual GPUs: everything that would make one says so.
#include "vgpu/nccl/api.hpp"
#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/unsupported.hpp"

namespace nccl = braid::vgpu::nccl;

// The names are NCCL's own: they are part of its binary interface.
struct ncclTeam {
  int nRanks, rank, stride;
};
struct ncclDevComm;
struct ncclDevCommRequirements;
struct ncclDevResourceRequirements;
struct ncclLsaBarrierHandle;
struct ncclGinBarrierHandle;
struct ncclLLA2AHandle;

namespace {

/// A team of the calling rank alone: no other rank's memory can be reached by load and store.
ncclTeam team_of_one(ncclComm_t comm, const char* function, bool whole_world) {
  nccl::CommunicatorRef communicator;
  if (nccl::find_communicator(comm, function, &communicator) != ncclSuccess) {
    return {0, 0, 0};
  }
  return whole_world ? ncclTeam{communicator->ranks, communicator->rank, 1} : ncclTeam{1, 0, 1};
}

}  // namespace

BRAID_NCCL_API(ncclResult_t, ncclDevCommCreate, ncclComm_t, const ncclDevCommRequirements*,
               ncclDevComm*) {
  return nccl::refuse_unsupported("ncclDevCommCreate");
}

BRAID_NCCL_API(ncclResult_t, ncclDevCommDestroy, ncclComm_t, const ncclDevComm*) {
  return nccl::refuse_unsupported("ncclDevCommDestroy");
}

BRAID_NCCL_API(ncclTeam, ncclTeamWorld, ncclComm_t comm) {
  return team_of_one(comm, "ncclTeamWorld", true);
}

BRAID_NCCL_API(ncclTeam, ncclTeamLsa, ncclComm_t comm) {
  return team_of_one(comm, "ncclTeamLsa", false);
}

BRAID_NCCL_API(ncclTeam, ncclTeamRail, ncclComm_t comm) {
  return team_of_one(comm, "ncclTeamRail", true);
}

BRAID_NCCL_API(int, ncclTeamRankToWorld, ncclComm_t comm, ncclTeam team, int rank) {
  const ncclTeam world = team_of_one(comm, "ncclTeamRankToWorld", true);
  return world.rank + (rank - team.rank) * team.stride;
}

BRAID_NCCL_API(int, ncclTeamRankToLsa, ncclComm_t comm, ncclTeam team, int rank) {
  const ncclTeam lsa = team_of_one(comm, "ncclTeamRankToLsa", false);
  return lsa.rank + (rank - team.rank) * team.stride;
}

BRAID_NCCL_API(ncclResult_t, ncclLsaBarrierCreateRequirement, ncclTeam, int, ncclLsaBarrierHandle*,
               ncclDevResourceRequirements*) {
  return nccl::refuse_unsupported("ncclLsaBarrierCreateRequirement");
}

BRAID_NCCL_API(ncclResult_t, ncclGinBarrierCreateRequirement, ncclComm_t, ncclTeam, int,
               ncclGinBarrierHandle*, ncclDevResourceRequirements*) {
  return nccl::refuse_unsupported("ncclGinBarrierCreateRequirement");
}

BRAID_NCCL_API(int, ncclLLA2ACalcSlots, int, int) {
  nccl::refuse_unsupported("ncclLLA2ACalcSlots");
  return 0;
}

BRAID_NCCL_API(ncclResult_t, ncclLLA2ACreateRequirement, int, int, ncclLLA2AHandle*,
               ncclDevResourceRequirements*) {
  return nccl::refuse_unsupported("ncclLLA2ACreateRequirement");
}
