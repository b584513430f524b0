// An event shared between processes: two counters in session memory, recordings asked for and done.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

class IpcEvent {
 public:
  IpcEvent() = default;

  /// Invalid when the session has no slot left or no shared memory.
  static IpcEvent create();
  /// Invalid when the handle is none of this session's live events.
  static IpcEvent open(const CUipcEventHandle& handle);

  bool is_valid() const { return slot_ != nullptr; }
  uint64_t next_recording() const;
  uint64_t last_recording() const;
  void complete(uint64_t recording) const;
  bool is_complete(uint64_t recording) const;
  CUresult write_handle(CUipcEventHandle* handle) const;
  /// The creator gives the slot back; waits of others then count as done.
  void release();

 private:
  struct Slot;
  static Slot* slots();

  Slot* slot_ = nullptr;
  uint64_t id_ = 0;
  bool created_here_ = false;
};

}  // namespace braid::vgpu
