#include "vgpu/core/box.hpp"

#include <sys/file.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "config/environment.hpp"
#include "vgpu/core/device_models.hpp"
#include "vgpu/core/process.hpp"

namespace braid::vgpu {
namespace {

constexpr int kMaxDevices = 32;
constexpr uint64_t kGiB = 1ull << 30;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kStateMagic = 0x3155504756444941;  // "AIDVGPU1"
// ThreadSanitizer on x86_64 keeps 0x7e8000000000–0x800000000000 for the program. The kernel puts
// libraries and stacks into its top terabyte, so what lies below 0x7ef000000000 is free.
constexpr uint64_t kNarrowBase = 0x7e8000000000;
constexpr uint64_t kNarrowEnd = 0x7ef000000000;
// Larger boxes use a range that is free in plain and AddressSanitizer processes.
constexpr uint64_t kWideBase = 0x700000000000;
constexpr uint64_t kWideEnd = 0x7a0000000000;

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

constexpr size_t kMaxProcesses = 1024;

struct SessionState {
  uint64_t magic;
  ProcessIdentity members[kMaxProcesses];  // pid 0: free
  uint64_t topology_digest;
  uint64_t device_count;
  uint64_t memory_bytes[kMaxDevices];
  HeapState heaps[];
};

std::string full_bus_id(const std::string& bus_id) {
  // "10:00.0" has no domain; CUDA always prints one.
  return std::count(bus_id.begin(), bus_id.end(), ':') >= 2 ? bus_id : "0000:" + bus_id;
}

Result<std::vector<DeviceInfo>> list_devices(const model::Topology& topology) {
  const config::Environment& env = config::environment();
  std::vector<DeviceInfo> out;
  for (const int index : topology.by_dev()) {
    const model::Gpu& gpu = topology.gpus[index];
    const DeviceModel& device_model = find_device_model(gpu.compute_capability);
    DeviceInfo info;
    info.ordinal = static_cast<int>(out.size());
    info.topology_index = index;
    info.bus_id = full_bus_id(gpu.bus_id);
    info.name = device_model.name;
    info.compute_capability = gpu.compute_capability;
    info.sm_count = env.vgpu_sms > 0 ? env.vgpu_sms : device_model.sm_count;
    info.memory_bytes = env.vgpu_memory > 0 ? env.vgpu_memory : device_model.memory_gib * kGiB;
    info.memory_bytes = (info.memory_bytes + kPage - 1) / kPage * kPage;
    out.push_back(info);
  }
  if (out.empty()) {
    return fail(topology.path, "the topology has no <gpu>");
  }
  if (out.size() > kMaxDevices) {
    return fail(topology.path, std::to_string(out.size()) + " GPUs; a virtual box has at most " +
                                   std::to_string(kMaxDevices));
  }
  return out;
}

// Adds this process. `alone`: nobody else who joined still lives.
bool join(SessionState& state, bool* alone) {
  ProcessIdentity* place = nullptr;
  *alone = true;
  for (ProcessIdentity& member : state.members) {
    if (member.pid != 0 && !is_alive(member)) {
      member = {};
    }
    if (member.pid != 0) {
      *alone = false;
    } else if (place == nullptr) {
      place = &member;
    }
  }
  if (place != nullptr) {
    *place = this_process();
  }
  return place != nullptr;
}

Result<SessionState*> open_state(Session& session, const Box& box) {
  const size_t count = box.devices.size();
  const uint64_t bytes = sizeof(SessionState) + count * sizeof(HeapState);
  const auto fd = session.open_file("state", bytes);
  if (!fd) {
    return tl::unexpected(fd.error());
  }
  const auto mapped = session.map_file("state", bytes, 0);
  if (!mapped) {
    return tl::unexpected(mapped.error());
  }
  auto* state = static_cast<SessionState*>(*mapped);
  flock(*fd, LOCK_EX);
  bool alone = false;
  const bool joined = join(*state, &alone);
  // What an earlier run left in the folder is nobody's: start afresh.
  if (state->magic == 0 || alone) {
    session.remove_files_except("state");
    state->topology_digest = box.topology.digest;
    state->device_count = count;
    for (size_t i = 0; i < count; ++i) {
      state->memory_bytes[i] = box.devices[i].memory_bytes;
      initialize_heap(state->heaps[i]);
    }
    state->magic = kStateMagic;
  }
  bool fits = state->magic == kStateMagic && state->topology_digest == box.topology.digest &&
              state->device_count == count;
  for (size_t i = 0; fits && i < count; ++i) {
    fits = state->memory_bytes[i] == box.devices[i].memory_bytes;
  }
  flock(*fd, LOCK_UN);
  if (!joined) {
    return fail(session.describe(),
                "has " + std::to_string(kMaxProcesses) + " processes, the most it can have");
  }
  if (!fits) {
    return fail(
        session.describe(),
        "was started for another box: BRAID_VGPU_TOPOLOGY and BRAID_VGPU_MEMORY must be the "
        "same in all its processes");
  }
  return state;
}

Status open_heaps(Box& box) {
  uint64_t largest = 0;
  for (const DeviceInfo& device : box.devices) {
    largest = std::max<uint64_t>(largest, device.memory_bytes);
  }
  const auto layout = heap_layout(static_cast<int>(box.devices.size()), largest);
  if (!layout) {
    return tl::unexpected(layout.error());
  }
  const auto state = open_state(*box.session, box);
  if (!state) {
    return tl::unexpected(state.error());
  }
  for (const DeviceInfo& device : box.devices) {
    const uint64_t base = layout->base + layout->stride * static_cast<uint64_t>(device.ordinal);
    const auto mapped =
        box.session->map_file("gpu" + std::to_string(device.ordinal), device.memory_bytes, base);
    if (!mapped) {
      return tl::unexpected(mapped.error());
    }
    box.heaps.push_back(std::make_unique<Heap>(&(*state)->heaps[device.ordinal], device.ordinal,
                                               base, device.memory_bytes));
    box.heaps.back()->reclaim();
  }
  return {};
}

Status open_box(Box& box) {
  if (config::environment_error()) {
    return tl::unexpected(*config::environment_error());
  }
  const config::Environment& env = config::environment();
  if (env.vgpu_topology.empty()) {
    return fail("BRAID_VGPU_TOPOLOGY",
                "is not set; it names the topology XML that gives the virtual "
                "GPUs (braid run --virtual FILE sets it)");
  }
  auto topology = model::read_topology_file(env.vgpu_topology);
  if (!topology) {
    return tl::unexpected(topology.error());
  }
  box.topology = std::move(*topology);
  auto devices = list_devices(box.topology);
  if (!devices) {
    return tl::unexpected(devices.error());
  }
  box.devices = std::move(*devices);
  const auto session = Session::open(env.vgpu_session);
  if (!session) {
    return tl::unexpected(session.error());
  }
  box.session = *session;
  return open_heaps(box);
}

}  // namespace

Result<HeapLayout> heap_layout(int count, uint64_t bytes_per_device) {
  // A guard of a gigabyte between devices: running off the end of one must not reach the next.
  const uint64_t stride = (bytes_per_device + kGiB - 1) / kGiB * kGiB + kGiB;
  if (stride > (kWideEnd - kWideBase) / static_cast<uint64_t>(count)) {
    return fail("BRAID_VGPU_MEMORY", std::to_string(count) + " GPUs of " +
                                         std::to_string(bytes_per_device >> 30) +
                                         " GiB do not fit into the address space; set a smaller "
                                         "memory size");
  }
  if (stride * static_cast<uint64_t>(count) <= kNarrowEnd - kNarrowBase) {
    return HeapLayout{kNarrowBase, stride};
  }
  if (kThreadSanitizer) {
    const uint64_t most = (kNarrowEnd - kNarrowBase) / static_cast<uint64_t>(count) / kGiB - 1;
    return fail("BRAID_VGPU_MEMORY",
                std::to_string(count) + " GPUs of " + std::to_string(bytes_per_device >> 30) +
                    " GiB do not fit beside ThreadSanitizer; set it to at most " +
                    std::to_string(most) + "GiB");
  }
  return HeapLayout{kWideBase, stride};
}

const Box& box() {
  static const Box& instance = *[] {
    auto* made = new Box;
    const Status status = open_box(*made);
    if (!status) {
      made->error = status.error();
      made->devices.clear();
      made->heaps.clear();
      report_once("no virtual GPU: " + status.error().text());
    }
    mark_process_in_use();
    return made;
  }();
  return instance;
}

Heap* heap_of(uint64_t address) {
  for (const auto& heap : box().heaps) {
    if (heap->contains(address)) {
      return heap.get();
    }
  }
  return nullptr;
}

const std::vector<DeviceInfo>& devices() { return box().devices; }
const model::Topology& topology() { return box().topology; }
const std::optional<Error>& box_error() { return box().error; }
bool compute_enabled() { return config::environment().vgpu_compute; }

Result<void*> shared_region(const std::string& name, size_t bytes) {
  struct Region {
    void* address;
    size_t bytes;
  };
  static std::mutex& mutex = *new std::mutex;
  static std::map<std::string, Region>& regions = *new std::map<std::string, Region>;
  if (is_fork_child()) {
    return fail("fork", "a child of a process that used CUDA cannot use it");
  }
  if (box().session == nullptr) {
    return tl::unexpected(*box().error);
  }
  const std::lock_guard lock(mutex);
  const auto known = regions.find(name);
  if (known != regions.end() && known->second.bytes >= bytes) {
    return known->second.address;
  }
  const auto mapped = box().session->map_file("region." + name, bytes, 0);
  if (!mapped) {
    return tl::unexpected(mapped.error());
  }
  regions[name] = {*mapped, bytes};
  return *mapped;
}

}  // namespace braid::vgpu
