// What has been enqueued on each stream, as far as it must be known to prove that a collective may
// overtake the rest of the GEMM that feeds it (design, rule 3 and "Coverage").
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "interposer/refusal.hpp"
#include "interposer/split_gemm.hpp"

namespace braid::interposer {

/// Counts of work a stream's order depends on. Two equal marks: nothing came in between.
struct StreamMark {
  uint64_t own = 0;      // work on the stream itself
  uint64_t implied = 0;  // on streams the legacy default stream's rules tie to it
  uint64_t unknown = 0;  // work seen on no particular stream
  bool operator==(const StreamMark&) const = default;
};

/// The early start a collective may make, or why it may not.
struct EarlyStart {
  std::shared_ptr<SplitGemm> gemm;  // nullptr: refused for `refusal`
  Refusal refusal = Refusal::kGemmNotSplit;
  /// The state of the collective's stream before it waited for the GEMM; nullptr when GEMM and
  /// collective share the stream (the GEMM's own events cover what came before).
  CUevent before_wait = nullptr;
};

/// Identity of a stream for the recorder.
struct StreamIdentity {
  uint32_t id = 0;
  int device = -1;
};

/// Process-wide. All functions are thread safe and hold no lock while they call the driver.
class StreamLedger {
 public:
  static StreamLedger& instance();

  /// The stream's number and device; meets it (flags, priority, Stream record) at first sight.
  StreamIdentity identify(CUstream stream);
  /// Meets a stream braid has made, so that the trace says whose it is.
  void adopt_own(CUstream stream);

  /// Work was enqueued on the stream.
  void note_work(CUstream stream);
  /// Work may have been enqueued anywhere.
  void note_unknown_work();

  /// The stream's state, to be handed to note_gemm after the GEMM was issued.
  StreamMark mark(CUstream stream);
  /// The stream's last work is this GEMM, issued in parts (or whole: nullptr). `begin`: the mark
  /// before its first part.
  void note_gemm(CUstream stream, const StreamMark& begin, std::shared_ptr<SplitGemm> gemm);

  /// An event was recorded. Returns its number and recording for the trace.
  struct EventIdentity {
    uint32_t event = 0;
    uint32_t recording = 0;
  };
  EventIdentity note_event_record(CUevent event, CUstream stream);
  EventIdentity identify_event(CUevent event);
  void note_event_destroyed(CUevent event);
  void note_stream_destroyed(CUstream stream);

  /// Called before a wait is forwarded: when the event stands for a split GEMM, records the
  /// stream's present state, so that a collective can later be made to wait for that and not for
  /// the whole GEMM.
  void prepare_wait(CUstream stream, CUevent event);
  /// Called after the wait was forwarded. Returns the event's identity for the trace.
  EventIdentity note_wait(CUstream stream, CUevent event);

  /// May a collective on `stream` start after the parts of a split GEMM?
  EarlyStart find_early_start(CUstream stream);

 private:
  struct StreamState {
    StreamIdentity identity;
    bool legacy = false;
    bool blocking = false;
    uint64_t work = 0;
    std::shared_ptr<SplitGemm> gemm;  // last work, as of gemm_mark
    StreamMark gemm_mark;
    bool gemm_was_whole = false;
    std::shared_ptr<SplitGemm> waited;  // last wait was for this GEMM, as of waited_mark
    StreamMark waited_mark;
    Refusal waited_refusal = Refusal::kGemmNotSplit;  // why that wait does not stand for a GEMM
    CUevent before_wait = nullptr;                    // owned
    CUevent prepared_for = nullptr;  // the event whose wait before_wait was recorded for
    uint64_t prepared_work = 0;      // the stream\'s work at that moment
  };
  struct EventState {
    uint32_t id = 0;
    uint32_t recordings = 0;
    std::shared_ptr<SplitGemm> gemm;           // recorded right after it, nothing in between
    Refusal refusal = Refusal::kGemmNotSplit;  // why not, when not
  };
  struct DeviceCounts {
    uint64_t legacy_work = 0;
    uint64_t blocking_work = 0;
  };
  struct StreamKey {
    CUstream stream = nullptr;
    int device = 0;       // distinguishes the default streams of devices
    uint32_t thread = 0;  // and of threads (per-thread default stream)
    bool operator==(const StreamKey&) const = default;
  };
  struct StreamKeyHash {
    size_t operator()(const StreamKey& key) const;
  };

  StreamKey key_of(CUstream stream) const;
  StreamState& meet(const StreamKey& key,
                    bool own = false);  // takes the lock itself; result lives until destroyed
  StreamMark mark_of(const StreamState& state) const;
  void count_work(StreamState& state);
  EventState& event_state(CUevent event);

  std::mutex mutex_;
  std::unordered_map<StreamKey, std::unique_ptr<StreamState>, StreamKeyHash> streams_;
  std::unordered_map<CUevent, EventState> events_;
  std::unordered_map<int, DeviceCounts> devices_;
  uint64_t unknown_work_ = 0;
  uint32_t next_stream_ = 1;
  uint32_t next_event_ = 1;
};

}  // namespace braid::interposer
