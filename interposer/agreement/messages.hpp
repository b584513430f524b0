// What the ranks of a communicator tell each other over the side channel, and its bytes on the
// wire.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interposer/plan_table.hpp"

namespace braid::interposer {

/// Names one communicator to be; made at random where its ncclUniqueId is made.
using Token = std::array<uint8_t, 16>;

inline constexpr uint32_t kProtocolVersion = 1;
/// No message is longer; a peer that announces more is not one of ours.
inline constexpr uint32_t kMaxMessageBytes = 1u << 20;

enum class MessageType : uint16_t {
  kCheckIn = 1,   // rank → coordinator, before the real init
  kAcknowledge,   // coordinator → rank: counted; the real init may start
  kInitReturned,  // rank → coordinator
  kVerdict,       // coordinator → rank
  kLeaseRequest,  // rank → coordinator
  kLease,         // coordinator → rank: a PlanRange
  kFarewell,      // coordinator → rank: no more ranges, stock from here on
};

/// All that must be equal on all ranks, and what the coordinator decides with.
struct CheckIn {
  Token token{};
  uint32_t protocol = kProtocolVersion;
  int32_t rank = 0;
  int32_t n_ranks = 0;
  uint64_t library_digest = 0;  // braid's version and build
  uint64_t policy_digest = 0;
  uint64_t settings_digest = 0;  // mode, verify, frozen, NCCL version
  uint64_t process = 0;          // host hash mixed with the process id
  uint32_t nonblocking = 0;
  uint32_t one_hardware_queue = 0;
  std::string bus_id;  // of the rank's GPU
  std::string broken;  // why this rank's policy cannot be used; empty: it can
};

enum class VerdictKind : uint32_t { kActive, kStock, kFail };
struct Verdict {
  VerdictKind kind = VerdictKind::kStock;
  uint32_t refusal = 0;              // interposer::Refusal, for kStock
  std::string reason;                // for kFail, and for the log
  std::vector<std::string> bus_ids;  // of all ranks, in order, for kActive
};

struct InitReturned {
  int32_t result = 0;  // ncclResult_t
};

struct LeaseRequest {
  uint64_t from = 0;
  uint64_t signature_hash = 0;  // of all collectives so far
};

/// A framed message: type and body.
struct Message {
  MessageType type{};
  std::vector<uint8_t> body;
};

std::vector<uint8_t> encode(const CheckIn& value);
std::vector<uint8_t> encode(const Verdict& value);
std::vector<uint8_t> encode(const InitReturned& value);
std::vector<uint8_t> encode(const LeaseRequest& value);
std::vector<uint8_t> encode(const PlanRange& value);

/// Empty when the bytes are not a valid message of that kind (too short, too long, out of range).
std::optional<CheckIn> decode_check_in(const std::vector<uint8_t>& body);
std::optional<Verdict> decode_verdict(const std::vector<uint8_t>& body);
std::optional<InitReturned> decode_init_returned(const std::vector<uint8_t>& body);
std::optional<LeaseRequest> decode_lease_request(const std::vector<uint8_t>& body);
std::optional<PlanRange> decode_plan_range(const std::vector<uint8_t>& body);

}  // namespace braid::interposer
