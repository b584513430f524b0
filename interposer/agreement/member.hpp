// A rank's side of the agreement: checks in, hears the verdict, leases ranges of the plan.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "interposer/agreement/endpoint.hpp"
#include "interposer/agreement/messages.hpp"

namespace braid::interposer {

/// One rank's connection to the coordinator of one communicator. Used by one thread at a time, as
/// NCCL demands of the communicator itself.
class Member {
 public:
  Member() = default;
  ~Member();
  Member(Member&& other) noexcept;
  Member& operator=(Member&& other) noexcept;

  /// Connects and checks in; returns after the coordinator has counted us. A member that is not
  /// connected means stock.
  static Member check_in(const ncclUniqueId& id, CheckIn check_in);

  bool is_connected() const { return descriptor_ >= 0; }
  const Token& token() const { return token_; }

  /// Reports the real init's result and waits for the coordinator's helper thread.
  Verdict hear_verdict(ncclResult_t init_result);

  /// Asks for the range that starts at `from` without waiting for the answer.
  void request_range(uint64_t from);
  /// The answer to request_range if it has come; `closed()` tells when none will.
  std::optional<PlanRange> poll_range();
  /// Waits for the answer to request_range. Empty: closed or lost.
  std::optional<PlanRange> wait_range();
  bool is_requested() const { return requested_; }
  /// A farewell was received: stock from here on, on all ranks alike.
  bool is_closed() const { return closed_; }
  /// The connection broke without a farewell: what the other ranks do cannot be known any more.
  bool is_lost() const { return lost_; }
  /// Ends any wait for the coordinator, from any thread (abort must not wait for us).
  void interrupt();

 private:
  void disconnect();

  std::atomic<int> descriptor_{-1};
  Token token_{};
  bool requested_ = false;
  bool closed_ = false;
  bool lost_ = false;
};

}  // namespace braid::interposer
