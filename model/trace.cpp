#include "model/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace braid::model::trace {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMaxRecordBytes = 1u << 20;  // the longest legal one is a string
constexpr uint32_t kMaxNameGap = 4096;  // ids are dense; threads may write them out of order
constexpr uint32_t kElementTypes = static_cast<uint32_t>(ElementType::kTf32) + 1;
constexpr uint32_t kFunctions = static_cast<uint32_t>(CollectiveFunction::kRecv) + 1;

/// Reads records one after another and remembers where it stands, for messages.
class Parser {
 public:
  Parser(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {
    trace_.path = path;
  }

  Result<RankTrace> run() {
    if (Status status = read_header(); !status) {
      return tl::unexpected(status.error());
    }
    while (offset_ < bytes_.size() && !trace_.complete) {
      if (bytes_.size() - offset_ < sizeof(RecordHeader)) {  // the last record's first bytes
        warn_cut();
        return std::move(trace_);
      }
      RecordHeader header;
      std::memcpy(&header, bytes_.data() + offset_, sizeof header);
      if (header.type == 0 && header.size == 0 && is_unwritten()) {
        warn_cut();
        return std::move(trace_);
      }
      if (header.size < sizeof header || header.size % 8 != 0 || header.size > kMaxRecordBytes) {
        return wrong("a record of " + std::to_string(header.size) +
                     " bytes; expected a multiple of 8 from " + std::to_string(sizeof header) +
                     " to " + std::to_string(kMaxRecordBytes));
      }
      if (bytes_.size() - offset_ < header.size) {
        warn_cut();
        return std::move(trace_);
      }
      if (Status status = read_record(header); !status) {
        return tl::unexpected(status.error());
      }
      offset_ += header.size;
    }
    if (!trace_.complete) {
      warn_cut();
    } else if (offset_ < bytes_.size()) {
      trace_.warnings.push_back(path_ + ": " + std::to_string(bytes_.size() - offset_) +
                                " bytes after the end record were not read");
    }
    if (trace_.dropped > 0) {
      trace_.warnings.push_back(path_ + ": the recorder lost " + std::to_string(trace_.dropped) +
                                " records");
    }
    return std::move(trace_);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(path_ + ": byte " + std::to_string(offset_), what);
  }

  /// The recorder reserves room ahead; what a killed job left unwritten is zero to the file's end.
  bool is_unwritten() const {
    return bytes_.find_first_not_of('\0', offset_) == std::string_view::npos;
  }

  void warn_cut() {
    trace_.warnings.push_back(path_ + ": cut after byte " + std::to_string(offset_) + " (" +
                              std::to_string(trace_.records.size()) +
                              " records are good); the job crashed or its disk was full");
  }

  Status read_header() {
    if (bytes_.size() < sizeof(FileHeader)) {
      return wrong("the file has " + std::to_string(bytes_.size()) +
                   " bytes; a trace starts with " + std::to_string(sizeof(FileHeader)));
    }
    std::memcpy(&trace_.header, bytes_.data(), sizeof(FileHeader));
    const FileHeader& header = trace_.header;
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
      return wrong("not a braid trace: expected the file to start with \"BRAIDTRC\"");
    }
    if (header.version != kVersion) {
      return wrong("trace version " + std::to_string(header.version) + "; this reader knows " +
                   std::to_string(kVersion));
    }
    if (header.header_bytes < sizeof(FileHeader) || header.header_bytes > bytes_.size() ||
        header.header_bytes % 8 != 0) {
      return wrong("a file header of " + std::to_string(header.header_bytes) +
                   " bytes; expected a multiple of 8 of at least " +
                   std::to_string(sizeof(FileHeader)) + " inside the file");
    }
    if (header.rank < -1 || header.world_size < -1 ||
        (header.world_size > 0 && header.rank >= header.world_size)) {
      return wrong("rank " + std::to_string(header.rank) + " of " +
                   std::to_string(header.world_size) + "; expected a rank below the world size");
    }
    offset_ = header.header_bytes;
    return {};
  }

  template <typename T>
  Status take(const RecordHeader& header, T& value) const {
    if (header.size < sizeof header + sizeof(T)) {
      return wrong("record type " + std::to_string(header.type) + " has " +
                   std::to_string(header.size) + " bytes; expected at least " +
                   std::to_string(sizeof header + sizeof(T)));
    }
    std::memcpy(&value, bytes_.data() + offset_ + sizeof header, sizeof(T));
    return {};
  }

  template <typename T>
  Status keep(const RecordHeader& header) {
    T value;
    Status status = take(header, value);
    if (status) {
      status = check(value);
    }
    if (status) {
      trace_.records.push_back(Record{header, value});
    }
    return status;
  }

  template <typename T>
  Status check(const T&) const {
    return {};
  }
  Status check(const Gemm& gemm) const {
    if (gemm.type >= kElementTypes || gemm.output_type >= kElementTypes) {
      return wrong("a GEMM of unknown element type " +
                   std::to_string(std::max(gemm.type, gemm.output_type)));
    }
    return {};
  }
  Status check(const Collective& collective) const {
    if (collective.function >= kFunctions || collective.type >= kElementTypes) {
      return wrong("a collective of unknown function " + std::to_string(collective.function) +
                   " or element type " + std::to_string(collective.type));
    }
    return {};
  }
  Status check(const Communicator& communicator) const {
    if (communicator.n_ranks < 1 || communicator.rank < 0 ||
        communicator.rank >= communicator.n_ranks) {
      return wrong("communicator rank " + std::to_string(communicator.rank) + " of " +
                   std::to_string(communicator.n_ranks) + "; expected 0 <= rank < ranks");
    }
    return {};
  }
  Status check(const Copy& copy) const {
    if (copy.kind > static_cast<uint32_t>(CopyKind::kMemset)) {
      return wrong("a copy of unknown kind " + std::to_string(copy.kind));
    }
    return {};
  }
  Status check(const HostWait& wait) const {
    if (wait.kind > static_cast<uint32_t>(HostWaitKind::kCopy)) {
      return wrong("a host wait of unknown kind " + std::to_string(wait.kind));
    }
    return {};
  }

  Status read_string(const RecordHeader& header) {
    String string;
    if (Status status = take(header, string); !status) {
      return status;
    }
    const uint64_t room = header.size - sizeof header - sizeof string;
    if (string.length > room) {
      return wrong("a string of " + std::to_string(string.length) +
                   " bytes in a record with room for " + std::to_string(room));
    }
    if (string.id > strings_ + kMaxNameGap) {
      return wrong("string id " + std::to_string(string.id) + " after " + std::to_string(strings_) +
                   " strings; ids are given out one by one");
    }
    ++strings_;
    if (string.id >= trace_.names.size()) {
      trace_.names.resize(string.id + 1);
    }
    trace_.names[string.id].assign(bytes_.data() + offset_ + sizeof header + sizeof string,
                                   string.length);
    return {};
  }

  Status read_record(const RecordHeader& header) {
    switch (static_cast<RecordType>(header.type)) {
      case RecordType::kString:
        return read_string(header);
      case RecordType::kSetting:
        return keep<Setting>(header);
      case RecordType::kDevice:
        return keep<Device>(header);
      case RecordType::kCommunicator:
        return keep<Communicator>(header);
      case RecordType::kCommunicatorEnd:
        return keep<CommunicatorEnd>(header);
      case RecordType::kStream:
        return keep<Stream>(header);
      case RecordType::kGemm:
        return keep<Gemm>(header);
      case RecordType::kKernel:
        return keep<Kernel>(header);
      case RecordType::kCopy:
        return keep<Copy>(header);
      case RecordType::kCollective:
        return keep<Collective>(header);
      case RecordType::kGroup:
        return keep<Group>(header);
      case RecordType::kEventRecord:
      case RecordType::kStreamWait:
        return keep<Event>(header);
      case RecordType::kHostWait:
        return keep<HostWait>(header);
      case RecordType::kHostFunction:
        trace_.records.push_back(Record{header, std::monostate{}});
        return {};
      case RecordType::kWaitValue:
      case RecordType::kWriteValue:
        return keep<WaitValue>(header);
      case RecordType::kMarker:
        return keep<Marker>(header);
      case RecordType::kRewrite:
        return keep<Rewrite>(header);
      case RecordType::kRefusal:
        return keep<Refusal>(header);
      case RecordType::kDropped: {
        Dropped dropped;
        Status status = take(header, dropped);
        if (status) {
          trace_.dropped += dropped.records;
          trace_.records.push_back(Record{header, dropped});
        }
        return status;
      }
      case RecordType::kEnd:
        trace_.complete = true;
        return {};
    }
    return {};  // a type of a later version: skipped
  }

  std::string_view bytes_;
  const std::string& path_;
  uint64_t offset_ = 0;
  uint64_t strings_ = 0;  // seen so far; bounds the ids, and so the memory a short file can ask for
  RankTrace trace_;
};

Result<std::string> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) {
    return fail(path, "cannot be read");
  }
  return std::move(text).str();
}

void warn_about_ranks(Trace& trace) {
  int world_size = -1;
  std::vector<int> ranks;
  for (const RankTrace& rank : trace.ranks) {
    trace.warnings.insert(trace.warnings.end(), rank.warnings.begin(), rank.warnings.end());
    world_size = std::max(world_size, rank.header.world_size);
    if (rank.header.rank >= 0) {
      ranks.push_back(rank.header.rank);
    }
  }
  const bool one_file_a_rank = ranks.size() == trace.ranks.size() && trace.ranks.size() > 1;
  if (one_file_a_rank && world_size > static_cast<int>(ranks.size())) {
    trace.warnings.push_back("traces of " + std::to_string(ranks.size()) + " of " +
                             std::to_string(world_size) + " ranks are here");
  }
}

}  // namespace

const std::string& RankTrace::name(uint32_t id) const {
  static const std::string kNone;
  return id < names.size() ? names[id] : kNone;
}

std::map<std::string, std::string> RankTrace::settings() const {
  std::map<std::string, std::string> found;
  for (const Record& record : records) {
    if (const Setting* setting = std::get_if<Setting>(&record.payload)) {
      found[name(setting->name)] = name(setting->value);
    }
  }
  return found;
}

Result<RankTrace> parse_rank_trace(std::string_view bytes, const std::string& path) {
  return Parser(bytes, path).run();
}

Result<RankTrace> read_rank_trace(const std::string& path) {
  Result<std::string> bytes = read_bytes(path);
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  return parse_rank_trace(*bytes, path);
}

Result<Trace> read_trace(const std::string& file_or_folder) {
  std::error_code error;
  std::vector<std::string> paths;
  if (fs::is_directory(file_or_folder, error)) {
    for (fs::directory_iterator it(file_or_folder, error), end; !error && it != end;
         it.increment(error)) {
      if (it->path().extension() == ".braidtrace") {
        paths.push_back(it->path().string());
      }
    }
    if (error) {
      return fail(file_or_folder, "cannot be listed: " + error.message());
    }
    if (paths.empty()) {
      return fail(file_or_folder,
                  "holds no *.braidtrace file; BRAID_TRACE_DIR names the folder "
                  "that `braid observe` writes");
    }
  } else {
    paths.push_back(file_or_folder);
  }
  std::sort(paths.begin(), paths.end());
  Trace trace;
  for (const std::string& path : paths) {
    Result<RankTrace> rank = read_rank_trace(path);
    if (!rank) {
      return tl::unexpected(rank.error());
    }
    trace.ranks.push_back(std::move(*rank));
  }
  std::stable_sort(
      trace.ranks.begin(), trace.ranks.end(),
      [](const RankTrace& a, const RankTrace& b) { return a.header.rank < b.header.rank; });
  for (size_t i = 1; i < trace.ranks.size(); ++i) {
    const RankTrace& a = trace.ranks[i - 1];
    const RankTrace& b = trace.ranks[i];
    if (a.header.rank >= 0 && a.header.rank == b.header.rank) {
      return fail(b.path, "is of rank " + std::to_string(b.header.rank) + ", as is " + a.path +
                              "; expected the files of one run");
    }
  }
  warn_about_ranks(trace);
  return trace;
}

uint64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kFp8E4m3:
    case ElementType::kFp8E5m2:
      return 1;
    case ElementType::kFp16:
    case ElementType::kBf16:
      return 2;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kFp64:
      return 8;
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFp32:
    case ElementType::kTf32:
      return 4;
  }
  return 4;
}

const char* name_of(ElementType type) {
  static constexpr const char* kNames[] = {"int8",    "uint8",   "int32", "uint32", "int64",
                                           "uint64",  "fp16",    "fp32",  "fp64",   "bf16",
                                           "fp8e4m3", "fp8e5m2", "tf32"};
  const auto index = static_cast<uint32_t>(type);
  return index < kElementTypes ? kNames[index] : "unknown";
}

const char* name_of(CollectiveFunction function) {
  static constexpr const char* kNames[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                           "Reduce",    "AllToAll",  "Gather",        "Scatter",
                                           "Send",      "Recv"};
  const auto index = static_cast<uint32_t>(function);
  return index < kFunctions ? kNames[index] : "unknown";
}

}  // namespace braid::model::trace
