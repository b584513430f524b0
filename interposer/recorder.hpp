// The thin recorder: notes what was enqueued where, one file a device the process uses (so one a
// rank). Analysis is done elsewhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "interposer/trace_file.hpp"
#include "model/trace_format.hpp"

namespace braid::interposer {

class Recorder {
 public:
  static Recorder& instance();

  /// True when BRAID_TRACE_DIR is set and usable.
  bool is_enabled() const { return enabled_.load(std::memory_order_relaxed); }

  /// The file of a device, created at its first use; nullptr when nothing is recorded.
  TraceFile* file_of(int device);

  /// Appends a record to the device's file. Does nothing when recording is off.
  template <typename Payload>
  void record(int device, model::trace::RecordType type, uint16_t flags, uint32_t stream,
              const Payload& payload) {
    if (TraceFile* file = file_of(device)) {
      file->append(type, flags, stream, &payload, sizeof(payload));
    }
  }
  void record_bare(int device, model::trace::RecordType type, uint16_t flags, uint32_t stream) {
    if (TraceFile* file = file_of(device)) {
      file->append(type, flags, stream, nullptr, 0);
    }
  }

  /// Id of a name in the device's file; 0 when nothing is recorded.
  uint32_t intern(int device, std::string_view name) {
    TraceFile* file = is_enabled() ? file_of(device) : nullptr;
    return file != nullptr ? file->intern(name) : 0;
  }

  /// Writes the counted refusals and closes all files. Called once, when the process ends.
  void close();

 private:
  static constexpr int kMaxDevices = 64;

  Recorder();
  TraceFile* create_file(int device);

  std::atomic<bool> enabled_{false};
  std::mutex mutex_;
  std::atomic<TraceFile*> files_[kMaxDevices] = {};
};

}  // namespace braid::interposer
