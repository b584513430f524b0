#include "interposer/trace_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "config/diagnostics.hpp"
#include "interposer/process_state.hpp"

namespace braid::interposer {
namespace trace = model::trace;
namespace {

// A window is mapped at a time; a record never crosses its end.
constexpr size_t kWindowBytes = 1u << 20;
// Kept free at a window's end for the Dropped and End records of a full disk.
constexpr size_t kReservedBytes = 128;

size_t round_up_8(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

uint64_t now_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

}  // namespace

TraceFile::TraceFile(std::string path, const trace::FileHeader& header) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    BRAID_WARN(Init, "recorder", "%s: cannot be created: %s; nothing is recorded", path_.c_str(),
               strerror(errno));
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  rank_known_ = header.rank >= 0;
  if (reserve(sizeof(header))) {
    std::memcpy(window_, &header, sizeof(header));
    window_used_ = sizeof(header);
  }
}

TraceFile::~TraceFile() { close(); }

bool TraceFile::reserve(size_t bytes) {
  if (descriptor_ < 0 || full_) {
    return false;
  }
  if (window_ != nullptr && window_used_ + bytes + kReservedBytes <= kWindowBytes) {
    return true;
  }
  // The next window starts at the page that holds the first free byte.
  const uint64_t end = window_start_ + window_used_;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t start = end / page * page;
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(descriptor_, static_cast<off_t>(start), kWindowBytes);
  }
  if (error != 0) {
    give_up(strerror(error));
    return false;
  }
  void* window = mmap(nullptr, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                      static_cast<off_t>(start));
  if (window == MAP_FAILED) {
    give_up(strerror(errno));
    return false;
  }
  if (window_ != nullptr) {
    munmap(window_, kWindowBytes);
  }
  window_ = static_cast<char*>(window);
  window_start_ = start;
  window_used_ = end - start;
  return window_used_ + bytes + kReservedBytes <= kWindowBytes;
}

void TraceFile::give_up(const char* what) {
  full_ = true;
  BRAID_WARN(Init, "recorder", "%s: %s; the trace is cut here and the job goes on", path_.c_str(),
             what);
}

void TraceFile::append_locked(trace::RecordType type, uint16_t flags, uint32_t stream,
                              const void* payload, size_t bytes, const void* tail,
                              size_t tail_bytes) {
  const size_t total = round_up_8(sizeof(trace::RecordHeader) + bytes + tail_bytes);
  if (!reserve(total)) {
    ++dropped_;
    return;
  }
  trace::RecordHeader header{};
  header.type = static_cast<uint16_t>(type);
  header.flags = flags;
  header.size = static_cast<uint32_t>(total);
  header.time_ns = now_ns();
  header.thread = thread_number();
  header.stream = stream;
  char* at = window_ + window_used_;
  // The header goes last: after a crash a record is either whole or all zeros.
  if (bytes > 0) {
    std::memcpy(at + sizeof(header), payload, bytes);
  }
  if (tail_bytes > 0) {
    std::memcpy(at + sizeof(header) + bytes, tail, tail_bytes);
  }
  std::atomic_signal_fence(std::memory_order_release);
  std::memcpy(at, &header, sizeof(header));
  window_used_ += total;
}

void TraceFile::append(trace::RecordType type, uint16_t flags, uint32_t stream, const void* payload,
                       size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  append_locked(type, flags, stream, payload, bytes, nullptr, 0);
}

uint32_t TraceFile::intern(std::string_view name) {
  if (name.empty()) {
    return 0;
  }
  // A name longer than this is cut: mangled template names run to many kilobytes.
  name = name.substr(0, 4096);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto [it, inserted] =
      names_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size()) + 1);
  if (inserted) {
    const trace::String record{it->second, static_cast<uint32_t>(name.size())};
    append_locked(trace::RecordType::kString, 0, trace::kNoStream, &record, sizeof(record),
                  name.data(), name.size());
  }
  return it->second;
}

void TraceFile::set_rank(int rank, int world_size) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (descriptor_ < 0 || rank_known_) {
    return;
  }
  rank_known_ = true;
  const int32_t values[2] = {rank, world_size};
  if (pwrite(descriptor_, values, sizeof(values), offsetof(trace::FileHeader, rank)) !=
      static_cast<ssize_t>(sizeof(values))) {
    BRAID_WARN(Init, "recorder", "%s: the rank could not be written: %s", path_.c_str(),
               strerror(errno));
  }
}

void TraceFile::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (descriptor_ < 0) {
    return;
  }
  if (window_ != nullptr) {
    if (dropped_ > 0) {
      // The reserved bytes of the last window hold these two records.
      full_ = false;
      const trace::Dropped record{dropped_};
      const trace::RecordHeader header{static_cast<uint16_t>(trace::RecordType::kDropped),
                                       0,
                                       sizeof(trace::RecordHeader) + sizeof(record),
                                       now_ns(),
                                       thread_number(),
                                       trace::kNoStream};
      std::memcpy(window_ + window_used_, &header, sizeof(header));
      std::memcpy(window_ + window_used_ + sizeof(header), &record, sizeof(record));
      window_used_ += header.size;
    }
    const trace::RecordHeader end{static_cast<uint16_t>(trace::RecordType::kEnd),
                                  0,
                                  sizeof(trace::RecordHeader),
                                  now_ns(),
                                  thread_number(),
                                  trace::kNoStream};
    std::memcpy(window_ + window_used_, &end, sizeof(end));
    window_used_ += sizeof(end);
    munmap(window_, kWindowBytes);
    window_ = nullptr;
  }
  if (ftruncate(descriptor_, static_cast<off_t>(window_start_ + window_used_)) != 0) {
    BRAID_WARN(Init, "recorder", "%s: could not be cut to its length: %s", path_.c_str(),
               strerror(errno));
  }
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace braid::interposer
