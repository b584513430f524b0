// The virtual box: devices, memory, streams and the scheduler, shared by all stand-in libraries.
//
// libbraid-vgpu.so implements this interface once; libcuda, libcudart, libnccl, libcublas(Lt),
// libcupti and libnvidia-ml are front ends over it. Handles are CUDA's own types: a CUstream or
// CUevent is an address of one of our objects, also when it came through the runtime API.
//
// Memory. Each virtual GPU's memory is one file of the session folder, mapped at the same address
// in every process of the session, so a device pointer means the same bytes everywhere.
//
// Scheduling. Each device used by a process has one executor thread. Work of a stream runs in
// order; streams map to hardware queues (BRAID_VGPU_QUEUES), whose head blocks what is behind it
// until it may start. BRAID_VGPU_SEED picks adversarially among everything that may run next.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/result.hpp"
#include "model/topology.hpp"

#define BRAID_VGPU_API __attribute__((visibility("default")))

namespace braid::vgpu {

struct DeviceInfo {
  int ordinal = 0;
  int topology_index = 0;  // into topology().gpus
  std::string bus_id;      // "0000:10:00.0"
  std::string name;
  int compute_capability = 86;
  int sm_count = 0;
  size_t memory_bytes = 0;
};

/// The box's devices in CUDA order (NVML index order). Empty when there is no usable topology; then
/// box_error() says why and cuInit answers CUDA_ERROR_NO_DEVICE.
BRAID_VGPU_API const std::vector<DeviceInfo>& devices();
BRAID_VGPU_API const model::Topology& topology();
BRAID_VGPU_API const std::optional<Error>& box_error();

/// Device of the calling thread's current context; 0 before any was set.
BRAID_VGPU_API int current_device();
BRAID_VGPU_API CUresult set_current_device(int ordinal);

enum class MemoryKind { kDevice, kPinnedHost, kManaged };
struct Allocation {
  uint64_t base = 0;
  size_t bytes = 0;
  int device = 0;
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t id = 0;  // grows; a reused address has a new id
};
/// The live allocation that holds `address`, of this process or of a peer in the session.
BRAID_VGPU_API std::optional<Allocation> find_allocation(uint64_t address);

/// May work on `device` touch [address, address+bytes)? CUDA_SUCCESS; CUDA_ERROR_ILLEGAL_ADDRESS
/// (unknown, freed, past the end, another device's without peer access, pageable host memory).
/// Zero bytes are always fine.
BRAID_VGPU_API CUresult check_access(int device, const void* address, size_t bytes);

enum class Step { kDone, kPending };
class Completion;  // set when a piece of work is done; opaque
using WorkHandle = std::shared_ptr<Completion>;

/// A piece of device work. `step` runs on the device's executor thread: first when the work may
/// start, then again while it answers kPending (a collective that waits for its peers). It must not
/// block. `shares` SM shares are held from before the first step until kDone; the work does not
/// start while fewer are free.
struct Work {
  std::string name;
  std::function<Step()> step;
  int shares = 0;
  std::vector<WorkHandle> after;  // besides stream order
};

/// Appends work to a stream (nullptr and CU_STREAM_LEGACY: the legacy default stream of the current
/// device). Returns the reason when the stream is bad or the device has a sticky error.
BRAID_VGPU_API CUresult enqueue(CUstream stream, Work work, WorkHandle* handle = nullptr);

struct KernelShape {
  std::string name;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
};
/// The same as a kernel launch: CUPTI subscribers see cuLaunchKernel around it, as they do for
/// launches made inside cuBLAS and NCCL.
BRAID_VGPU_API CUresult launch(CUstream stream, const KernelShape& shape, Work work,
                               WorkHandle* handle = nullptr);

BRAID_VGPU_API bool is_done(const WorkHandle& handle);
BRAID_VGPU_API bool is_stream(CUstream stream);  // a live stream or a default one
BRAID_VGPU_API int device_of(CUstream stream);   // -1: not a stream
BRAID_VGPU_API CUresult synchronize(CUstream stream);

/// Puts a device into an error state that every later call on it reports (CUDA's sticky errors).
BRAID_VGPU_API void set_device_error(int device, CUresult error);
BRAID_VGPU_API CUresult device_error(int device);

/// Whether payloads are computed (BRAID_VGPU_COMPUTE).
BRAID_VGPU_API bool compute_enabled();

/// Under a seed: overwrites memory whose content is undefined (a receive buffer while the
/// collective runs) so that too-early readers are caught. Without a seed: does nothing.
BRAID_VGPU_API void poison(void* address, size_t bytes);

/// Zeroed memory of the session by name, shared by its processes; the same name gives the same
/// memory. Lives until the session ends.
BRAID_VGPU_API Result<void*> shared_region(const std::string& name, size_t bytes);

/// Writes "braid-vgpu: …" to stderr once for each distinct text.
BRAID_VGPU_API void report_once(const std::string& text);

}  // namespace braid::vgpu
