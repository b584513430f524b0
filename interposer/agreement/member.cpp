#include "interposer/agreement/member.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "config/diagnostics.hpp"
#include "interposer/descriptors.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {
namespace {

constexpr int kConnectTimeoutMs = 10000;

Verdict no_side_channel(const char* reason) {
  return {VerdictKind::kStock, static_cast<uint32_t>(Refusal::kSideChannel), reason, {}};
}

}  // namespace

Member::~Member() { disconnect(); }

Member::Member(Member&& other) noexcept { *this = std::move(other); }

Member& Member::operator=(Member&& other) noexcept {
  if (this != &other) {
    disconnect();
    descriptor_ = other.descriptor_.exchange(-1);
    token_ = other.token_;
    requested_ = other.requested_;
    closed_ = other.closed_;
    lost_ = other.lost_;
  }
  return *this;
}

void Member::disconnect() {
  if (const int descriptor = descriptor_.exchange(-1); descriptor >= 0) {
    forget_descriptor(descriptor);
    ::close(descriptor);
  }
}

void Member::interrupt() {
  if (const int descriptor = descriptor_.load(); descriptor >= 0) {
    ::shutdown(descriptor, SHUT_RDWR);
  }
}

Member Member::check_in(const ncclUniqueId& id, CheckIn check_in) {
  Member member;
  const std::optional<Stamp> stamp = read_stamp(id);
  if (!stamp) {
    return member;
  }
  member.token_ = stamp->token;
  check_in.token = stamp->token;
  Result<int> descriptor = connect_to(stamp->endpoint, kConnectTimeoutMs);
  if (!descriptor) {
    BRAID_WARN(Agreement, "agreement", "%s; the communicator runs as stock",
               descriptor.error().text().c_str());
    return member;
  }
  member.descriptor_ = *descriptor;
  note_descriptor(*descriptor);
  // Waits for the acknowledgement as long as the coordinator's process lives: giving up alone,
  // after the coordinator may have counted us, would leave the ranks disagreeing.
  const bool sent = send_message(member.descriptor_, MessageType::kCheckIn, encode(check_in));
  const std::optional<Message> answer = sent ? receive_message(member.descriptor_) : std::nullopt;
  if (!answer || answer->type != MessageType::kAcknowledge) {
    member.disconnect();
  }
  return member;
}

Verdict Member::hear_verdict(ncclResult_t init_result) {
  if (descriptor_ < 0) {
    return no_side_channel("no connection to the coordinator");
  }
  // The verdict may be there already: it is announced to all ranks at once. Then the report is not
  // needed, and the coordinator perhaps gone.
  const InitReturned returned{static_cast<int32_t>(init_result)};
  send_message(descriptor_, MessageType::kInitReturned, encode(returned));
  const std::optional<Message> answer = receive_message(descriptor_);
  if (answer && answer->type == MessageType::kVerdict) {
    if (const auto verdict = decode_verdict(answer->body)) {
      return *verdict;
    }
  }
  disconnect();
  return no_side_channel("the coordinator left before its verdict");
}

void Member::request_range(uint64_t from) {
  if (requested_ || closed_ || lost_) {
    return;
  }
  requested_ = descriptor_ >= 0 &&
               send_message(descriptor_, MessageType::kLeaseRequest, encode(LeaseRequest{from, 0}));
  lost_ = !requested_;
}

std::optional<PlanRange> Member::poll_range() {
  if (!requested_) {
    return std::nullopt;
  }
  pollfd waiting{descriptor_, POLLIN, 0};
  if (poll(&waiting, 1, 0) != 1) {
    return std::nullopt;
  }
  return wait_range();
}

std::optional<PlanRange> Member::wait_range() {
  if (!requested_) {
    return std::nullopt;
  }
  requested_ = false;
  const std::optional<Message> message = receive_message(descriptor_);
  if (message && message->type == MessageType::kFarewell) {
    closed_ = true;
    return std::nullopt;
  }
  auto range = message && message->type == MessageType::kLease ? decode_plan_range(message->body)
                                                               : std::nullopt;
  lost_ = !range.has_value();
  return range;
}

}  // namespace braid::interposer
