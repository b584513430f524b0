// A GEMM braid issued in parts, and what must be known of it to let a collective start early.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace braid::interposer {

/// Bytes [begin, end) that a piece of work touches.
struct MemoryRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool overlaps(const MemoryRange& other) const { return begin < other.end && other.begin < end; }
};

/// Events of one device, kept for reuse. Thread safe. An event may be recorded again as soon as
/// every wait for its last recording has been *enqueued* (cuStreamWaitEvent captures the
/// recording).
class EventPool {
 public:
  /// An event of the stream's context (on `device`), or nullptr when none can be made.
  static CUevent acquire(int device, CUstream stream);
  static void release(int device, CUevent event);
};

/// One issue of a GEMM in parts. Part j covers elements [boundaries[j], boundaries[j+1]) of the
/// output and events[j] was recorded right after it.
struct SplitGemm {
  int device = 0;
  CUstream stream = nullptr;
  MemoryRange output;
  std::vector<MemoryRange> operands;  // what it reads besides, and the workspace it writes
  std::vector<uint64_t> boundaries;   // elements; front 0, back the whole output
  std::vector<CUevent> events;        // one a part

  SplitGemm() = default;
  SplitGemm(const SplitGemm&) = delete;
  SplitGemm& operator=(const SplitGemm&) = delete;
  ~SplitGemm() {
    for (CUevent event : events) {
      EventPool::release(device, event);
    }
  }
};

}  // namespace braid::interposer
