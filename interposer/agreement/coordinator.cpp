#include "interposer/agreement/coordinator.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <limits>
#include <string>

#include "config/diagnostics.hpp"
#include "config/digest.hpp"
#include "interposer/descriptors.hpp"
#include "interposer/process_state.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {
namespace {

// A stranger's connections are cut off here; a job has one a rank and communicator.
constexpr size_t kMaxConnections = 16384;
constexpr size_t kMaxMeetings = 4096;

Verdict stock(Refusal refusal, std::string reason) {
  return {VerdictKind::kStock, static_cast<uint32_t>(refusal), std::move(reason), {}};
}

}  // namespace

uint64_t own_process_digest() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return config::digest_of(std::string(host) + ":" + std::to_string(getpid()));
}

Verdict judge(const std::map<int, CheckIn>& check_ins, int n_ranks, uint64_t own_process) {
  // A rank whose policy is broken fails the communicator on all ranks that can be told.
  for (const auto& [rank, check_in] : check_ins) {
    if (!check_in.broken.empty()) {
      return {VerdictKind::kFail, 0, "rank " + std::to_string(rank) + ": " + check_in.broken, {}};
    }
  }
  if (static_cast<int>(check_ins.size()) != n_ranks) {
    return stock(Refusal::kNotAgreed, std::to_string(check_ins.size()) + " of " +
                                          std::to_string(n_ranks) + " ranks run with braid");
  }
  const CheckIn& first = check_ins.begin()->second;
  bool has_local_member = false;
  for (const auto& [rank, check_in] : check_ins) {
    const char* differs = nullptr;
    if (check_in.library_digest != first.library_digest) {
      differs = "another build of braid";
    } else if (check_in.policy_digest != first.policy_digest) {
      differs = "another policy";
    } else if (check_in.settings_digest != first.settings_digest) {
      differs = "other settings (BRAID_MODE, BRAID_FROZEN, BRAID_VERIFY) or another NCCL version";
    } else if (check_in.n_ranks != first.n_ranks) {
      differs = "another number of ranks";
    }
    if (differs != nullptr) {
      return stock(Refusal::kNotAgreed, "rank " + std::to_string(rank) + " has " + differs +
                                            " than rank " +
                                            std::to_string(check_ins.begin()->first));
    }
    if (check_in.nonblocking != 0) {
      return stock(Refusal::kNonblocking, "rank " + std::to_string(rank) + " is nonblocking");
    }
    has_local_member = has_local_member || check_in.process == own_process;
  }
  if (!has_local_member) {
    return stock(Refusal::kSideChannel, "the process that made the id is not a member");
  }
  for (const auto& [rank, check_in] : check_ins) {
    if (check_in.one_hardware_queue != 0) {
      return stock(Refusal::kOneHardwareQueue,
                   "rank " + std::to_string(rank) + " has CUDA_DEVICE_MAX_CONNECTIONS=1");
    }
  }
  Verdict verdict{VerdictKind::kActive, 0, "", {}};
  for (const auto& [rank, check_in] : check_ins) {
    verdict.bus_ids.push_back(check_in.bus_id);
  }
  return verdict;
}

Coordinator& Coordinator::instance() {
  static auto* coordinator = new Coordinator();  // its thread lives until the process ends
  return *coordinator;
}

bool Coordinator::start() {
  if (started_ || failed_) {
    return started_;
  }
  failed_ = true;
  Result<int> listener = open_listener(&endpoint_);
  if (!listener) {
    BRAID_WARN(Agreement, "coordinator", "%s; communicators run as stock",
               listener.error().text().c_str());
    return false;
  }
  listener_ = *listener;
  // The program's signals are the program's: the helper takes none of them.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  try {
    std::thread([this] { serve(); }).detach();
    started_ = true;
  } catch (const std::exception& error) {
    BRAID_WARN(Agreement, "coordinator", "no helper thread (%s); communicators run as stock",
               error.what());
    ::close(listener_);
    listener_ = -1;
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (started_) {
    note_descriptor(listener_);
    failed_ = false;
  }
  return started_;
}

void Coordinator::stamp(ncclUniqueId* id) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!start() || meetings_.size() >= kMaxMeetings) {
    return;
  }
  Token token{};
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    return;
  }
  if (stamp_unique_id(id, token, endpoint_)) {
    meetings_[token];
  }
}

void Coordinator::add_member(const Token& token, int rank, RangeDecider decider) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = meetings_.find(token);
  if (it != meetings_.end()) {
    it->second.members[rank] = std::move(decider);
    it->second.had_member = true;
  }
}

void Coordinator::remove_member(const Token& token, int rank) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = meetings_.find(token);
  if (it == meetings_.end()) {
    return;
  }
  it->second.members.erase(rank);
  if (it->second.members.empty() && it->second.had_member) {
    say_farewell(it->second, token);
  }
}

void Coordinator::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [token, meeting] : meetings_) {
    say_farewell(meeting, token);
  }
}

void Coordinator::say_farewell(Meeting& meeting, const Token& token) {
  if (meeting.farewell) {
    return;
  }
  meeting.farewell = true;
  for (const auto& connection : connections_) {
    if (!connection->checked_in || connection->token != token) {
      continue;
    }
    for (const PlanRange& range : meeting.ranges) {
      if (range.from >= connection->sent_until) {
        send_message(connection->descriptor, MessageType::kLease, encode(range));
        connection->sent_until = range.to;
      }
    }
    send_message(connection->descriptor, MessageType::kFarewell, {});
  }
}

void Coordinator::serve() {
  RealCallGuard guard;  // nothing this thread does is the program's
  try {
    while (serve_once()) {
    }
  } catch (const std::exception& error) {
    BRAID_WARN(Agreement, "coordinator", "%s; the side channel is closed", error.what());
  }
  // No rank may be left waiting for an answer that will not come.
  std::lock_guard<std::mutex> lock(mutex_);
  while (!connections_.empty()) {
    drop(connections_.size() - 1);
  }
  forget_descriptor(listener_);
  ::close(listener_);
  started_ = false;
  failed_ = true;
}

bool Coordinator::serve_once() {
  std::vector<pollfd> waiting;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting.push_back({listener_, POLLIN, 0});
    for (const auto& connection : connections_) {
      waiting.push_back({connection->descriptor, POLLIN, 0});
    }
  }
  if (poll(waiting.data(), waiting.size(), -1) < 0) {
    return errno == EINTR || errno == EAGAIN;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if ((waiting[0].revents & (POLLERR | POLLNVAL)) != 0) {
    return false;
  }
  if ((waiting[0].revents & POLLIN) != 0) {
    accept_connection();
  }
  for (size_t i = 1; i < waiting.size(); ++i) {
    if (waiting[i].revents == 0) {
      continue;
    }
    const auto it =
        std::find_if(connections_.begin(), connections_.end(),
                     [&](const auto& candidate) { return candidate->descriptor == waiting[i].fd; });
    if (it != connections_.end() && !read_from(**it)) {
      drop(static_cast<size_t>(it - connections_.begin()));
    }
  }
  return true;
}

void Coordinator::accept_connection() {
  const int accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (accepted < 0) {
    // Out of descriptors: the connection stays queued, and trying again at once would only spin.
    usleep(10000);
    return;
  }
  if (connections_.size() >= kMaxConnections) {
    ::close(accepted);
    return;
  }
  const int on = 1;
  setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  note_descriptor(accepted);
  auto connection = std::make_unique<Connection>();
  connection->descriptor = accepted;
  connections_.push_back(std::move(connection));
}

bool Coordinator::read_from(Connection& connection) {
  uint8_t bytes[4096];
  const ssize_t count = ::recv(connection.descriptor, bytes, sizeof(bytes), 0);
  if (count <= 0) {
    return count < 0 && (errno == EAGAIN || errno == EINTR);
  }
  connection.buffer.insert(connection.buffer.end(), bytes, bytes + count);
  bool bad = false;
  while (const std::optional<Message> message = take_message(&connection.buffer, &bad)) {
    if (!handle(connection, *message)) {
      return false;
    }
  }
  return !bad;
}

void Coordinator::drop(size_t index) {
  const std::unique_ptr<Connection> dead = std::move(connections_[index]);
  connections_.erase(connections_.begin() + static_cast<ptrdiff_t>(index));
  forget_descriptor(dead->descriptor);
  ::close(dead->descriptor);
  // A meeting that was judged ends with its last connection.
  const auto meeting = dead->checked_in ? meetings_.find(dead->token) : meetings_.end();
  const bool others =
      std::any_of(connections_.begin(), connections_.end(), [&](const auto& connection) {
        return connection->checked_in && connection->token == dead->token;
      });
  if (meeting != meetings_.end() && meeting->second.judged && !others) {
    meetings_.erase(meeting);
  }
}

bool Coordinator::handle(Connection& connection, const Message& message) {
  if (!connection.checked_in) {
    // Whoever does not begin with a check-in that names one of our tokens is a stranger.
    const auto check_in =
        message.type == MessageType::kCheckIn ? decode_check_in(message.body) : std::nullopt;
    const auto it = check_in ? meetings_.find(check_in->token) : meetings_.end();
    if (it == meetings_.end() || it->second.judged) {
      return false;
    }
    connection.checked_in = true;
    connection.token = check_in->token;
    connection.rank = check_in->rank;
    it->second.check_ins[check_in->rank] = *check_in;
    return send_message(connection.descriptor, MessageType::kAcknowledge, {});
  }
  Meeting& meeting = meetings_[connection.token];
  switch (message.type) {
    case MessageType::kInitReturned: {
      const auto returned = decode_init_returned(message.body);
      if (!returned) {
        return false;
      }
      if (!meeting.judged) {
        // The real init has returned on one rank, so all ranks have entered it, and every rank with
        // braid checks in before: who is missing runs without braid. Any other result tells nothing
        // of the ranks that are still on their way.
        meeting.judged = true;
        meeting.verdict = returned->result == ncclSuccess
                              ? judge(meeting.check_ins, meeting.check_ins[connection.rank].n_ranks,
                                      own_process_digest())
                              : stock(Refusal::kNotAgreed, "the init did not succeed on rank " +
                                                               std::to_string(connection.rank));
        announce_verdict(meeting, connection.token);
      }
      return true;
    }
    case MessageType::kLeaseRequest: {
      const auto request = decode_lease_request(message.body);
      return request && answer_lease(connection, request->from);
    }
    default:
      return false;
  }
}

void Coordinator::announce_verdict(const Meeting& meeting, const Token& token) {
  // To all at once: a rank that hears "fail" may end this process before the others have asked.
  for (const auto& connection : connections_) {
    if (connection->checked_in && connection->token == token) {
      send_message(connection->descriptor, MessageType::kVerdict, encode(meeting.verdict));
    }
  }
}

bool Coordinator::answer_lease(Connection& connection, uint64_t from) {
  Meeting& meeting = meetings_[connection.token];
  const auto known = std::find_if(meeting.ranges.begin(), meeting.ranges.end(),
                                  [from](const PlanRange& range) { return range.from == from; });
  if (known != meeting.ranges.end()) {
    connection.sent_until = std::max(connection.sent_until, known->to);
    return send_message(connection.descriptor, MessageType::kLease, encode(*known));
  }
  const uint64_t expected = meeting.ranges.empty() ? 0 : meeting.ranges.back().to;
  if (meeting.farewell || from != expected) {
    return send_message(connection.descriptor, MessageType::kFarewell, {});
  }
  // A rank may ask before the coordinator's own has heard the verdict: then nothing has been
  // observed, and that range is empty for all.
  PlanRange range{from, end_of_range(from), {}};
  if (!meeting.members.empty()) {
    range.entries = meeting.members.begin()->second(range.from, range.to);
  }
  meeting.ranges.push_back(range);
  connection.sent_until = range.to;
  trim_ranges(meeting, connection.token);
  return send_message(connection.descriptor, MessageType::kLease, encode(range));
}

void Coordinator::trim_ranges(Meeting& meeting, const Token& token) {
  // What every rank has been given is not asked for again.
  uint64_t given_to_all = std::numeric_limits<uint64_t>::max();
  size_t ranks = 0;
  for (const auto& connection : connections_) {
    if (connection->checked_in && connection->token == token) {
      given_to_all = std::min(given_to_all, connection->sent_until);
      ++ranks;
    }
  }
  if (ranks == meeting.check_ins.size()) {
    std::erase_if(meeting.ranges, [&](const PlanRange& range) {
      return range.to <= given_to_all && range.to != meeting.ranges.back().to;
    });
  }
}

}  // namespace braid::interposer
