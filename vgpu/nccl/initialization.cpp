#include "vgpu/nccl/initialization.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>

#include "vgpu/nccl/group.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/settings.hpp"

namespace braid::vgpu::nccl {
namespace {

/// Layout of the first bytes of a unique id.
struct IdBytes {
  uint64_t token;
  int32_t pid;
  uint32_t number;
};

constexpr uint64_t kEnvironmentToken = 0x4e43434c5f434944;  // ids made from NCCL_COMM_ID

uint64_t hash_text(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

ncclResult_t check_device(int device) {
  if (devices().empty()) {
    return reject(ncclUnhandledCudaError,
                  "Cuda failure 100 'no CUDA-capable device is detected'%s%s",
                  box_error() ? ": " : "", box_error() ? box_error()->text().c_str() : "");
  }
  const CUresult error = device_error(device);
  if (error != CUDA_SUCCESS) {
    return reject(ncclUnhandledCudaError, "Cuda failure %d: device %d is in an error state",
                  static_cast<int>(error), device);
  }
  return ncclSuccess;
}

}  // namespace

void make_unique_id(ncclUniqueId* id) {
  std::memset(id->internal, 0, sizeof(id->internal));
  IdBytes bytes{};
  const std::string address = read_setting("NCCL_COMM_ID");
  if (!address.empty()) {
    bytes.token = kEnvironmentToken ^ hash_text(address);
  } else {
    static std::atomic<uint32_t> made{0};
    std::random_device random;
    bytes.token = (static_cast<uint64_t>(random()) << 32) | random();
    bytes.pid = getpid();
    bytes.number = ++made;
  }
  std::memcpy(id->internal, &bytes, sizeof(bytes));
}

ncclResult_t initialize_rank(const char* function, ncclComm_t* handle, int ranks,
                             const ncclUniqueId& id, int rank, int device,
                             const ncclConfig_t* config) {
  if (handle == nullptr) {
    return reject(ncclInvalidArgument, "%s : comm argument is NULL", function);
  }
  *handle = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    return reject(ncclInvalidArgument, "Invalid rank requested : %d/%d", rank, ranks);
  }
  BRAID_NCCL_TRY(check_device(device));
  auto communicator = std::make_shared<Communicator>();
  BRAID_NCCL_TRY(read_config(config, nullptr, &communicator->config));
  communicator->rank = rank;
  communicator->ranks = ranks;
  communicator->device = device;
  IdBytes bytes;
  std::memcpy(&bytes, id.internal, sizeof(bytes));
  communicator->key = {
      bytes.token, (static_cast<uint64_t>(bytes.number) << 32) | static_cast<uint32_t>(bytes.pid)};
  add_communicator(communicator);
  *handle = handle_of(communicator);
  const ncclResult_t result =
      submit_job({[communicator, handle] {
                    const auto started = start_communicator(*communicator);
                    if (started != ncclSuccess && communicator->config.blocking) {
                      remove_communicator(communicator);
                      *handle = nullptr;
                    }
                    return started;
                  },
                  {communicator},
                  device});
  return result;
}

}  // namespace braid::vgpu::nccl
