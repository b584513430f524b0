// Writes traces in memory: for tests, examples and tools that make up a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "config/result.hpp"
#include "model/trace.hpp"
#include "model/trace_format.hpp"

namespace braid::model::trace {

/// Appends records to one rank's trace. Not for use in a traced job: libbraid has its own writer.
/// Each function returns *this where it has nothing better to return.
class TraceBuilder {
 public:
  TraceBuilder(int rank, int world_size);

  /// Flags, thread of the records that follow. Both stay until changed.
  TraceBuilder& with_flags(uint16_t flags);
  TraceBuilder& on_thread(uint32_t thread);

  /// The id of a string, written at its first use.
  uint32_t name(const std::string& text);

  TraceBuilder& setting(const std::string& name, const std::string& value);
  TraceBuilder& device(int ordinal, const std::string& bus_id, int sm_count = 84,
                       int compute_capability = 86);
  /// Declares a stream and returns its id (1, 2, …).
  uint32_t stream(int priority = 0, bool non_blocking = true, int device = 0);
  /// Declares a communicator and returns its id.
  uint32_t communicator(uint64_t hash, int rank, int n_ranks, int device = 0);

  TraceBuilder& gemm(uint32_t stream, uint64_t m, uint64_t n, uint64_t k,
                     ElementType type = ElementType::kBf16);
  TraceBuilder& kernel(uint32_t stream, const std::string& name, uint32_t blocks, uint32_t threads,
                       uint64_t bytes);
  TraceBuilder& copy(uint32_t stream, uint64_t bytes, CopyKind kind, bool asynchronous = true);
  TraceBuilder& collective(uint32_t stream, uint32_t communicator, CollectiveFunction function,
                           uint64_t count, ElementType type = ElementType::kBf16, int root = 0);
  TraceBuilder& group(bool start);
  TraceBuilder& record_event(uint32_t stream, uint32_t event, uint32_t recording = 1);
  TraceBuilder& wait_event(uint32_t stream, uint32_t event, uint32_t recording = 1);
  TraceBuilder& host_wait(HostWaitKind kind, uint32_t stream = kNoStream, uint32_t event = 0,
                          uint32_t recording = 0);
  TraceBuilder& wait_value(uint32_t stream, uint64_t address, uint64_t value);
  TraceBuilder& write_value(uint32_t stream, uint64_t address, uint64_t value);
  TraceBuilder& marker(const std::string& name, uint32_t kind);
  TraceBuilder& end();

  const std::string& bytes() const { return bytes_; }
  /// Parses what was written so far; it is always well formed.
  RankTrace build() const;
  /// Writes the file; the error names it.
  Status write(const std::string& path) const;

 private:
  template <typename T>
  void append(RecordType type, uint32_t stream, const T& payload);

  std::string bytes_;
  std::map<std::string, uint32_t> names_;
  std::map<uint32_t, uint64_t> made_;  // collectives so far, by communicator
  uint16_t flags_ = 0;
  uint32_t thread_ = 0;
  uint32_t streams_ = 0, communicators_ = 0, depth_ = 0;
  uint64_t time_ns_ = 0;
};

}  // namespace braid::model::trace
