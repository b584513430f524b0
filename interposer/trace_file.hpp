// One trace file, appended to through a shared mapping so that a killed process loses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/trace_format.hpp"

namespace braid::interposer {

/// Writer of one rank's trace. Space is allocated on the disk before it is mapped: a full disk ends
/// the trace (counted as dropped), never the job. Thread safe.
class TraceFile {
 public:
  /// Creates `path` exclusively, without following links.
  TraceFile(std::string path, const model::trace::FileHeader& header);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }

  /// Appends a record. `payload` may be nullptr when bytes is 0.
  void append(model::trace::RecordType type, uint16_t flags, uint32_t stream, const void* payload,
              size_t bytes);

  /// The id of a name in this file; writes its String record the first time.
  uint32_t intern(std::string_view name);

  /// Corrects the rank in the header once a communicator tells it.
  void set_rank(int rank, int world_size);

  /// Writes the End record and cuts the file to its length. Idempotent.
  void close();

 private:
  bool reserve(size_t bytes);  // with mutex_ held: room for `bytes` more
  void append_locked(model::trace::RecordType type, uint16_t flags, uint32_t stream,
                     const void* payload, size_t bytes, const void* tail, size_t tail_bytes);
  void give_up(const char* what);

  std::mutex mutex_;
  std::string path_;
  int descriptor_ = -1;
  char* window_ = nullptr;     // the mapped part of the file
  uint64_t window_start_ = 0;  // its offset in the file
  size_t window_used_ = 0;
  uint64_t dropped_ = 0;
  bool full_ = false;
  bool rank_known_ = false;
  std::unordered_map<std::string, uint32_t> names_;
};

}  // namespace braid::interposer
