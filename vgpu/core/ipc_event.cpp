#include "vgpu/core/ipc_event.hpp"

#include <atomic>
#include <cstring>

#include "vgpu/core/process.hpp"

namespace braid::vgpu {
namespace {

constexpr uint32_t kSlots = 4096;
constexpr uint64_t kHandleMagic = 0x6576656e74627261;

struct WireHandle {
  uint64_t magic;
  uint64_t id;
  uint32_t slot;
};
static_assert(sizeof(WireHandle) <= sizeof(CUipcEventHandle));

}  // namespace

// Zeroed when the session starts.
struct IpcEvent::Slot {
  std::atomic<uint64_t> id;  // 0: free
  std::atomic<int32_t> owner;
  std::atomic<uint64_t> owner_start;
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> completed;
};

IpcEvent::Slot* IpcEvent::slots() {
  // The first entry hands out ids.
  const auto region = shared_region("ipc-events", (kSlots + 1) * sizeof(Slot));
  return region ? static_cast<Slot*>(*region) : nullptr;
}

IpcEvent IpcEvent::create() {
  IpcEvent event;
  Slot* all = slots();
  if (all == nullptr) {
    return event;
  }
  const ProcessIdentity me = this_process();
  const uint64_t id = all[0].id.fetch_add(1) + 1;
  for (uint32_t i = 1; i <= kSlots; ++i) {
    Slot& slot = all[i];
    uint64_t seen = slot.id.load();
    const bool abandoned = seen != 0 && slot.owner.load() != 0 &&
                           !is_alive({slot.owner.load(), slot.owner_start.load()});
    if ((seen == 0 || abandoned) && slot.id.compare_exchange_strong(seen, id)) {
      slot.recorded = 0;
      slot.completed = 0;
      slot.owner_start = me.start_time;
      slot.owner = me.pid;
      event.slot_ = &slot;
      event.id_ = id;
      event.created_here_ = true;
      return event;
    }
  }
  report_once("the session holds " + std::to_string(kSlots) +
              " interprocess events, the most it keeps");
  return event;
}

IpcEvent IpcEvent::open(const CUipcEventHandle& handle) {
  IpcEvent event;
  WireHandle wire{};
  std::memcpy(&wire, &handle, sizeof(wire));
  Slot* all = slots();
  if (all == nullptr || wire.magic != kHandleMagic || wire.slot == 0 || wire.slot > kSlots ||
      all[wire.slot].id.load() != wire.id) {
    return event;
  }
  event.slot_ = &all[wire.slot];
  event.id_ = wire.id;
  return event;
}

uint64_t IpcEvent::next_recording() const { return slot_->recorded.fetch_add(1) + 1; }
uint64_t IpcEvent::last_recording() const { return slot_->recorded.load(); }

void IpcEvent::complete(uint64_t recording) const {
  if (slot_->id.load() != id_) {
    return;
  }
  uint64_t seen = slot_->completed.load();
  while (seen < recording && !slot_->completed.compare_exchange_weak(seen, recording)) {
  }
}

bool IpcEvent::is_complete(uint64_t recording) const {
  return slot_->id.load() != id_ || slot_->completed.load() >= recording;
}

CUresult IpcEvent::write_handle(CUipcEventHandle* handle) const {
  if (handle == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const WireHandle wire{kHandleMagic, id_, static_cast<uint32_t>(slot_ - slots())};
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &wire, sizeof(wire));
  return CUDA_SUCCESS;
}

void IpcEvent::release() {
  if (slot_ != nullptr && created_here_) {
    slot_->owner = 0;
    slot_->id.compare_exchange_strong(id_, 0);
  }
}

}  // namespace braid::vgpu
