#include "interposer/agreement/messages.hpp"

#include <cstring>

namespace braid::interposer {
namespace {

constexpr size_t kMaxTextBytes = 4096;
constexpr size_t kMaxEntries = 1024;
constexpr size_t kMaxParts = 64;

class Writer {
 public:
  template <typename T>
  void number(T value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(value));
  }
  void text(const std::string& value) {
    const size_t length = std::min(value.size(), kMaxTextBytes);
    number(static_cast<uint32_t>(length));
    bytes_.insert(bytes_.end(), value.begin(), value.begin() + static_cast<ptrdiff_t>(length));
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads what Writer wrote; after the first overrun every read gives zero and ok() is false.
class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    if (bytes_.size() - at_ < sizeof(value)) {
      ok_ = false;
      at_ = bytes_.size();
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  std::string text() {
    const auto length = number<uint32_t>();
    if (length > kMaxTextBytes || bytes_.size() - at_ < length) {
      ok_ = false;
      return {};
    }
    std::string value(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
    at_ += length;
    return value;
  }
  bool ok() const { return ok_; }
  bool finished() const { return ok_ && at_ == bytes_.size(); }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

std::vector<uint8_t> encode(const CheckIn& value) {
  Writer writer;
  writer.number(value.token);
  writer.number(value.protocol);
  writer.number(value.rank);
  writer.number(value.n_ranks);
  writer.number(value.library_digest);
  writer.number(value.policy_digest);
  writer.number(value.settings_digest);
  writer.number(value.process);
  writer.number(value.nonblocking);
  writer.number(value.one_hardware_queue);
  writer.text(value.bus_id);
  writer.text(value.broken);
  return writer.take();
}

std::optional<CheckIn> decode_check_in(const std::vector<uint8_t>& body) {
  Reader reader(body);
  CheckIn value;
  value.token = reader.number<Token>();
  value.protocol = reader.number<uint32_t>();
  value.rank = reader.number<int32_t>();
  value.n_ranks = reader.number<int32_t>();
  value.library_digest = reader.number<uint64_t>();
  value.policy_digest = reader.number<uint64_t>();
  value.settings_digest = reader.number<uint64_t>();
  value.process = reader.number<uint64_t>();
  value.nonblocking = reader.number<uint32_t>();
  value.one_hardware_queue = reader.number<uint32_t>();
  value.bus_id = reader.text();
  value.broken = reader.text();
  const bool plausible = value.protocol == kProtocolVersion && value.n_ranks > 0 &&
                         value.rank >= 0 && value.rank < value.n_ranks;
  return reader.finished() && plausible ? std::optional(value) : std::nullopt;
}

std::vector<uint8_t> encode(const Verdict& value) {
  Writer writer;
  writer.number(static_cast<uint32_t>(value.kind));
  writer.number(value.refusal);
  writer.text(value.reason);
  writer.number(static_cast<uint32_t>(value.bus_ids.size()));
  for (const std::string& bus_id : value.bus_ids) {
    writer.text(bus_id);
  }
  return writer.take();
}

std::optional<Verdict> decode_verdict(const std::vector<uint8_t>& body) {
  Reader reader(body);
  Verdict value;
  const auto kind = reader.number<uint32_t>();
  value.refusal = reader.number<uint32_t>();
  value.reason = reader.text();
  const auto bus_ids = reader.number<uint32_t>();
  for (uint32_t i = 0; i < bus_ids && reader.ok(); ++i) {
    value.bus_ids.push_back(reader.text());
  }
  if (!reader.finished() || kind > static_cast<uint32_t>(VerdictKind::kFail)) {
    return std::nullopt;
  }
  value.kind = static_cast<VerdictKind>(kind);
  return value;
}

std::vector<uint8_t> encode(const InitReturned& value) {
  Writer writer;
  writer.number(value.result);
  return writer.take();
}

std::optional<InitReturned> decode_init_returned(const std::vector<uint8_t>& body) {
  Reader reader(body);
  const InitReturned value{reader.number<int32_t>()};
  return reader.finished() ? std::optional(value) : std::nullopt;
}

std::vector<uint8_t> encode(const LeaseRequest& value) {
  Writer writer;
  writer.number(value.from);
  writer.number(value.signature_hash);
  return writer.take();
}

std::optional<LeaseRequest> decode_lease_request(const std::vector<uint8_t>& body) {
  Reader reader(body);
  LeaseRequest value;
  value.from = reader.number<uint64_t>();
  value.signature_hash = reader.number<uint64_t>();
  return reader.finished() ? std::optional(value) : std::nullopt;
}

std::vector<uint8_t> encode(const PlanRange& value) {
  Writer writer;
  writer.number(value.from);
  writer.number(value.to);
  writer.number(static_cast<uint32_t>(value.entries.size()));
  for (const PlanEntry& entry : value.entries) {
    writer.number(entry.signature.function);
    writer.number(entry.signature.type);
    writer.number(entry.signature.op);
    writer.number(entry.signature.root);
    writer.number(entry.signature.count);
    writer.number(static_cast<uint32_t>(entry.boundaries.size()));
    for (const uint64_t boundary : entry.boundaries) {
      writer.number(boundary);
    }
  }
  return writer.take();
}

std::optional<PlanRange> decode_plan_range(const std::vector<uint8_t>& body) {
  Reader reader(body);
  PlanRange value;
  value.from = reader.number<uint64_t>();
  value.to = reader.number<uint64_t>();
  const auto entries = reader.number<uint32_t>();
  if (!reader.ok() || entries > kMaxEntries || value.to <= value.from) {
    return std::nullopt;
  }
  for (uint32_t i = 0; i < entries && reader.ok(); ++i) {
    PlanEntry entry;
    entry.signature.function = reader.number<uint32_t>();
    entry.signature.type = reader.number<uint32_t>();
    entry.signature.op = reader.number<uint32_t>();
    entry.signature.root = reader.number<int32_t>();
    entry.signature.count = reader.number<uint64_t>();
    const auto boundaries = reader.number<uint32_t>();
    if (boundaries < 2 || boundaries > kMaxParts + 1) {
      return std::nullopt;
    }
    for (uint32_t j = 0; j < boundaries; ++j) {
      entry.boundaries.push_back(reader.number<uint64_t>());
      if (j > 0 && entry.boundaries[j] <= entry.boundaries[j - 1]) {
        return std::nullopt;
      }
    }
    if (entry.boundaries.front() != 0 || entry.boundaries.back() != entry.signature.count) {
      return std::nullopt;
    }
    value.entries.push_back(std::move(entry));
  }
  return reader.finished() ? std::optional(value) : std::nullopt;
}

}  // namespace braid::interposer
