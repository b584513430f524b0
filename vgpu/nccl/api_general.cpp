// Exported functions about the library, groups and reduction operators.
#include <atomic>
#include <cstring>

#include "vgpu/nccl/api.hpp"
#include "vgpu/nccl/communicator.hpp"
#include "vgpu/nccl/group.hpp"
#include "vgpu/nccl/log.hpp"

namespace nccl = braid::vgpu::nccl;

BRAID_NCCL_API(ncclResult_t, ncclGetVersion, int* version) {
  if (version == nullptr) {
    return ncclInvalidArgument;
  }
  *version = NCCL_VERSION(2, 28, 9);
  return ncclSuccess;
}

BRAID_NCCL_API(const char*, ncclGetErrorString, ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

BRAID_NCCL_API(const char*, ncclGetLastError, ncclComm_t) { return nccl::last_error(); }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
BRAID_NCCL_API(void, ncclResetDebugInit) { nccl::reset_log(); }
#pragma GCC diagnostic pop

extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal();
extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal() {
  nccl::reset_log();
}

BRAID_NCCL_API(ncclResult_t, ncclGroupStart) { return nccl::open_group(); }

BRAID_NCCL_API(ncclResult_t, ncclGroupEnd) { return nccl::close_group(); }

BRAID_NCCL_API(ncclResult_t, ncclGroupSimulateEnd, ncclSimInfo_t* simInfo) {
  constexpr unsigned kMagic = 0x74685283;
  if (simInfo != nullptr && simInfo->magic != kMagic) {
    return nccl::reject(ncclInvalidArgument,
                        "ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER");
  }
  double time_us = 0;
  BRAID_NCCL_TRY(nccl::close_group_simulated(&time_us));
  if (simInfo != nullptr) {
    simInfo->estimatedTime = static_cast<float>(time_us);
  }
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclRedOpCreatePreMulSum, ncclRedOp_t* op, void* scalar,
               ncclDataType_t datatype, ncclScalarResidence_t residence, ncclComm_t comm) {
  nccl::CommunicatorRef communicator;
  BRAID_NCCL_TRY(nccl::find_ready_communicator(comm, "ncclRedOpCreatePreMulSum", &communicator));
  const bool known_residence =
      residence == ncclScalarDevice || residence == ncclScalarHostImmediate;
  if (op == nullptr || scalar == nullptr || !nccl::is_valid(datatype) || !known_residence) {
    return nccl::reject(
        ncclInvalidArgument, "ncclRedOpCreatePreMulSum : op %p scalar %p datatype %d residence %d",
        static_cast<void*>(op), scalar, static_cast<int>(datatype), static_cast<int>(residence));
  }
  nccl::UserOperator made;
  made.datatype = datatype;
  if (residence == ncclScalarDevice) {
    made.address = scalar;
  } else {
    std::memcpy(&made.scalar, scalar, nccl::bytes_of(datatype));
  }
  // Numbers are never used twice in a process: another communicator's operator is told apart.
  static std::atomic<int> next{ncclNumOps};
  const int number = next.fetch_add(1);
  std::lock_guard lock(communicator->mutex);
  communicator->operators.emplace(number, made);
  *op = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

BRAID_NCCL_API(ncclResult_t, ncclRedOpDestroy, ncclRedOp_t op, ncclComm_t comm) {
  if (static_cast<int>(op) >= 0 && op < ncclNumOps) {
    return nccl::reject(ncclInvalidArgument, "ncclRedOpDestroy : operator is a NCCL builtin.");
  }
  nccl::CommunicatorRef communicator;
  BRAID_NCCL_TRY(nccl::find_communicator(comm, "ncclRedOpDestroy", &communicator));
  std::lock_guard lock(communicator->mutex);
  if (communicator->operators.erase(static_cast<int>(op)) == 0) {
    return nccl::reject(ncclInvalidArgument,
                        "ncclRedOpDestroy : operator %d unknown to this communicator",
                        static_cast<int>(op));
  }
  return ncclSuccess;
}
