// Reading traces: the records of all ranks, checked, with names resolved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "config/result.hpp"
#include "model/trace_format.hpp"

namespace braid::model::trace {

using Payload = std::variant<std::monostate, Setting, Device, Communicator, CommunicatorEnd, Stream,
                             Gemm, Kernel, Copy, Collective, Group, Event, HostWait, WaitValue,
                             Marker, Rewrite, Refusal, Dropped>;

struct Record {
  RecordHeader header;
  Payload payload;

  RecordType type() const { return static_cast<RecordType>(header.type); }
};

/// One rank's file.
struct RankTrace {
  std::string path;
  FileHeader header{};
  std::vector<std::string> names;  // by string id; "" where undefined
  std::vector<Record> records;     // String records are taken out
  bool complete = false;           // an End record was seen
  uint64_t dropped = 0;            // records the recorder lost

  const std::string& name(uint32_t id) const;
  std::map<std::string, std::string> settings() const;
};

/// All files of one run, sorted by rank.
struct Trace {
  std::vector<RankTrace> ranks;
  std::vector<std::string> warnings;  // cut files, missing ranks, …
};

/// Reads one file. Errors name the file and the byte offset.
Result<RankTrace> read_rank_trace(const std::string& path);

/// Reads every *.braidtrace of a folder, or one file.
Result<Trace> read_trace(const std::string& file_or_folder);

}  // namespace braid::model::trace
