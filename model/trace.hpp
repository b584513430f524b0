// Reading traces: the records of all ranks, checked, with names resolved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
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
  bool has(RecordFlags flag) const { return (header.flags & flag) != 0; }
};

/// One process's file: one rank, or several when the ranks are threads.
struct RankTrace {
  std::string path;
  FileHeader header{};
  std::vector<std::string> names;     // by string id; "" where undefined
  std::vector<Record> records;        // String records are taken out; unknown types are left out
  std::vector<std::string> warnings;  // why the file is not whole; empty when it is
  bool complete = false;              // an End record was seen
  uint64_t dropped = 0;               // records the recorder lost

  /// The string with this id; "" when the file never defined it.
  const std::string& name(uint32_t id) const;
  /// NAME → value of all Setting records; the last one wins.
  std::map<std::string, std::string> settings() const;
};

/// All files of one run, sorted by rank, then by path.
struct Trace {
  std::vector<RankTrace> ranks;
  std::vector<std::string> warnings;  // cut files, missing ranks, …
};

/// Parses a trace file's bytes; `path` stands for the file in messages. A file that ends inside a
/// record gives what stands before it, with a warning. A record that contradicts the format is an
/// error that names the file and the record's byte offset. Memory stays proportional to the input.
Result<RankTrace> parse_rank_trace(std::string_view bytes, const std::string& path);

/// Reads one file. Errors name the file and the byte offset.
Result<RankTrace> read_rank_trace(const std::string& path);

/// Reads every *.braidtrace of a folder, or one file.
Result<Trace> read_trace(const std::string& file_or_folder);

/// Bytes of one element.
uint64_t bytes_of(ElementType type);
/// "bf16", "fp32", … as policies spell them.
const char* name_of(ElementType type);
/// "AllReduce", "Send", …
const char* name_of(CollectiveFunction function);

}  // namespace braid::model::trace
