// Streams and contexts, and the order that CUDA promises between their work.
#pragma once

#include <cuda.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "vgpu/core/completion.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

class BRAID_VGPU_API Context;

/// A stream; its address is the CUstream. Kept alive by whoever looked it up.
struct Stream {
  uint64_t id = 0;
  int device = 0;
  Context* context = nullptr;
  unsigned flags = 0;  // CU_STREAM_NON_BLOCKING
  int priority = 0;
  int queue = 0;  // hardware queue
  bool is_legacy = false;
  WorkHandle tail;  // its last work; guarded by the device's issue mutex

  /// Ordered with the legacy default stream.
  bool is_blocking() const { return !is_legacy && (flags & CU_STREAM_NON_BLOCKING) == 0; }
};
using StreamRef = std::shared_ptr<Stream>;

/// A context; its address is the CUcontext. Never deleted, so that a stale handle is told apart.
class BRAID_VGPU_API Context {
 public:
  Context(int device, bool primary, unsigned flags);

  int device() const { return device_; }
  bool is_primary() const { return primary_; }
  uint32_t uid() const { return uid_; }
  std::atomic<unsigned> flags{0};
  std::atomic<bool> alive{true};

  StreamRef legacy_stream();
  /// The calling thread's own default stream.
  StreamRef thread_stream();
  StreamRef create_stream(unsigned flags, int priority);
  /// Work in it still runs; the handle is gone.
  void retire_stream(const StreamRef& stream);
  /// Destroys all streams once their work is done.
  void close();

  /// What has to be done before all work enqueued so far is: of all streams, or of those that are
  /// ordered with the legacy stream.
  std::vector<WorkHandle> pending(bool only_ordered_with_legacy);

 private:
  friend CUresult enqueue_operation(const StreamRef&, Work, std::function<bool()>, WorkHandle*);
  StreamRef make_stream(unsigned flags, int priority, bool legacy);
  void collect_pending(bool only_ordered_with_legacy, std::vector<WorkHandle>& out);

  const int device_;
  const bool primary_;
  const uint32_t uid_;
  // Guarded by the device's issue mutex.
  StreamRef legacy_;
  std::map<uint64_t, StreamRef> thread_streams_;
  std::map<Stream*, StreamRef> streams_;
  std::vector<WorkHandle> retired_;  // last work of destroyed streams that were blocking
  std::vector<WorkHandle> retired_non_blocking_;
};

/// Least and greatest priority (numerically 0 and -5, as on current GPUs).
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

/// Finds a stream: special handles mean the calling thread's current context.
CUresult BRAID_VGPU_API find_stream(CUstream handle, StreamRef* out);

/// Appends work under the stream's ordering rules. `gate` holds back the hardware queue while it
/// answers false; it runs on the executor thread and must be quick.
CUresult BRAID_VGPU_API enqueue_operation(const StreamRef& stream, Work work,
                                          std::function<bool()> gate, WorkHandle* handle);

/// Waits on the host; then the device's sticky error or CUDA_SUCCESS.
CUresult BRAID_VGPU_API wait_for(int device, const std::vector<WorkHandle>& handles);
CUresult BRAID_VGPU_API synchronize_stream(const StreamRef& stream);
CUresult BRAID_VGPU_API query_stream(const StreamRef& stream);
CUresult BRAID_VGPU_API synchronize_context(Context& context);
/// All contexts of the device in this process.
CUresult BRAID_VGPU_API synchronize_device(int device);

CUresult BRAID_VGPU_API create_stream(unsigned flags, int priority, CUstream* out);
CUresult BRAID_VGPU_API destroy_stream(CUstream handle);

}  // namespace braid::vgpu
