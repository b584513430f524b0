#include "model/trace_builder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace braid::model::trace {
namespace {

template <typename T>
void append_bytes(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

TraceBuilder::TraceBuilder(int rank, int world_size) {
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.header_bytes = sizeof header;
  header.rank = rank;
  header.world_size = world_size;
  append_bytes(bytes_, header);
}

template <typename T>
void TraceBuilder::append(RecordType type, uint32_t stream, const T& payload) {
  static_assert(sizeof(T) % 8 == 0);
  RecordHeader header{};
  header.type = static_cast<uint16_t>(type);
  header.flags = flags_;
  header.size = sizeof header + sizeof payload;
  header.time_ns = time_ns_ += 1000;
  header.thread = thread_;
  header.stream = stream;
  append_bytes(bytes_, header);
  append_bytes(bytes_, payload);
}

TraceBuilder& TraceBuilder::with_flags(uint16_t flags) {
  flags_ = flags;
  return *this;
}

TraceBuilder& TraceBuilder::on_thread(uint32_t thread) {
  thread_ = thread;
  return *this;
}

uint32_t TraceBuilder::name(const std::string& text) {
  const auto [it, fresh] = names_.try_emplace(text, static_cast<uint32_t>(names_.size() + 1));
  if (fresh) {
    const size_t padded = (text.size() + 7) / 8 * 8;
    RecordHeader header{};
    header.type = static_cast<uint16_t>(RecordType::kString);
    header.size = static_cast<uint32_t>(sizeof header + sizeof(String) + padded);
    header.time_ns = time_ns_;
    header.stream = kNoStream;
    append_bytes(bytes_, header);
    append_bytes(bytes_, String{it->second, static_cast<uint32_t>(text.size())});
    bytes_.append(text).append(padded - text.size(), '\0');
  }
  return it->second;
}

TraceBuilder& TraceBuilder::setting(const std::string& key, const std::string& value) {
  const uint32_t key_id = name(key);
  append(RecordType::kSetting, kNoStream, Setting{key_id, name(value)});
  return *this;
}

TraceBuilder& TraceBuilder::device(int ordinal, const std::string& bus_id, int sm_count,
                                   int compute_capability) {
  Device payload{};
  payload.ordinal = ordinal;
  payload.compute_capability = compute_capability;
  payload.sm_count = sm_count;
  payload.bus_id = name(bus_id);
  append(RecordType::kDevice, kNoStream, payload);
  return *this;
}

uint32_t TraceBuilder::stream(int priority, bool non_blocking, int device) {
  append(RecordType::kStream, kNoStream,
         Stream{++streams_, device, priority, non_blocking ? 1u : 0u});
  return streams_;
}

uint32_t TraceBuilder::communicator(uint64_t hash, int rank, int n_ranks, int device) {
  append(RecordType::kCommunicator, kNoStream,
         Communicator{++communicators_, rank, n_ranks, device, hash, 0, 0});
  return communicators_;
}

TraceBuilder& TraceBuilder::gemm(uint32_t stream, uint64_t m, uint64_t n, uint64_t k,
                                 ElementType type) {
  Gemm payload{};
  payload.m = m;
  payload.n = n;
  payload.k = k;
  payload.batch = 1;
  payload.type = payload.output_type = static_cast<uint32_t>(type);
  payload.output_bytes = m * n * bytes_of(type);
  payload.epilogue = 1;
  append(RecordType::kGemm, stream, payload);
  return *this;
}

TraceBuilder& TraceBuilder::kernel(uint32_t stream, const std::string& kernel_name, uint32_t blocks,
                                   uint32_t threads, uint64_t bytes) {
  const uint32_t id = name(kernel_name);
  append(RecordType::kKernel, stream, Kernel{id, 0, {blocks, 1, 1}, {threads, 1, 1}, bytes});
  return *this;
}

TraceBuilder& TraceBuilder::copy(uint32_t stream, uint64_t bytes, CopyKind kind,
                                 bool asynchronous) {
  append(RecordType::kCopy, stream,
         Copy{bytes, static_cast<uint32_t>(kind), asynchronous ? 1u : 0u});
  return *this;
}

TraceBuilder& TraceBuilder::collective(uint32_t stream, uint32_t communicator,
                                       CollectiveFunction function, uint64_t count,
                                       ElementType type, int root) {
  Collective payload{};
  payload.communicator = communicator;
  payload.function = static_cast<uint32_t>(function);
  payload.type = static_cast<uint32_t>(type);
  payload.root = root;
  payload.count = count;
  payload.sequence = made_[communicator]++;
  payload.send_address = 0x1000;
  payload.receive_address = 0x1000;
  append(RecordType::kCollective, stream, payload);
  return *this;
}

TraceBuilder& TraceBuilder::group(bool start) {
  depth_ = start ? depth_ + 1 : depth_ - std::min(depth_, 1u);
  append(RecordType::kGroup, kNoStream, Group{start ? 1u : 0u, depth_});
  return *this;
}

TraceBuilder& TraceBuilder::record_event(uint32_t stream, uint32_t event, uint32_t recording) {
  append(RecordType::kEventRecord, stream, Event{event, recording});
  return *this;
}

TraceBuilder& TraceBuilder::wait_event(uint32_t stream, uint32_t event, uint32_t recording) {
  append(RecordType::kStreamWait, stream, Event{event, recording});
  return *this;
}

TraceBuilder& TraceBuilder::host_wait(HostWaitKind kind, uint32_t stream, uint32_t event,
                                      uint32_t recording) {
  append(RecordType::kHostWait, stream, HostWait{static_cast<uint32_t>(kind), event, recording, 0});
  return *this;
}

TraceBuilder& TraceBuilder::wait_value(uint32_t stream, uint64_t address, uint64_t value) {
  append(RecordType::kWaitValue, stream, WaitValue{address, value, 0, 4});
  return *this;
}

TraceBuilder& TraceBuilder::write_value(uint32_t stream, uint64_t address, uint64_t value) {
  append(RecordType::kWriteValue, stream, WaitValue{address, value, 0, 4});
  return *this;
}

TraceBuilder& TraceBuilder::marker(const std::string& marker_name, uint32_t kind) {
  const uint32_t id = name(marker_name);
  append(RecordType::kMarker, kNoStream, Marker{id, kind});
  return *this;
}

TraceBuilder& TraceBuilder::end() {
  RecordHeader header{};
  header.type = static_cast<uint16_t>(RecordType::kEnd);
  header.size = sizeof header;
  header.time_ns = time_ns_;
  header.stream = kNoStream;
  append_bytes(bytes_, header);
  return *this;
}

RankTrace TraceBuilder::build() const { return parse_rank_trace(bytes_, "built").value(); }

Status TraceBuilder::write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  file.close();
  if (!file) {
    return fail(path, std::string("cannot be written: ") + std::strerror(errno));
  }
  return {};
}

}  // namespace braid::model::trace
