// Events: the point a stream had reached when the event was recorded last.
#pragma once

#include <cuda.h>

#include <memory>
#include <mutex>

#include "vgpu/core/ipc_event.hpp"
#include "vgpu/core/stream.hpp"

namespace braid::vgpu {

/// An event; its address is the CUevent. A wait captures the recording at the time of the call, so
/// recording again or destroying the event later does not change what is waited for.
class BRAID_VGPU_API Event {
 public:
  Event(Context* context, unsigned flags, IpcEvent ipc)
      : context_(context), flags_(flags), ipc_(ipc) {}

  CUresult record(const StreamRef& stream);
  CUresult make_wait(const StreamRef& stream);
  CUresult query();
  CUresult synchronize();
  CUresult export_handle(CUipcEventHandle* handle) const;
  /// Gives back what the event shares with other processes.
  void release();

  Context* context() const { return context_; }
  static CUresult elapsed(Event& start, Event& end, float* milliseconds);

 private:
  WorkHandle last();

  Context* const context_;
  const unsigned flags_;
  IpcEvent ipc_;  // not shared: invalid
  std::mutex mutex_;
  WorkHandle last_;
};
using EventRef = std::shared_ptr<Event>;

BRAID_VGPU_API CUresult create_event(unsigned flags, CUevent* out);
BRAID_VGPU_API CUresult open_event(const CUipcEventHandle& handle, CUevent* out);
BRAID_VGPU_API CUresult destroy_event(CUevent handle);
BRAID_VGPU_API EventRef find_event(CUevent handle);

}  // namespace braid::vgpu
