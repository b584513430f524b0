// The coordinator's helper thread: counts check-ins, gives the verdict, decides each range once.
//
// It runs in the process that made the ncclUniqueId. It never waits for a GPU or for another thread
// of the program, so a rank that waits for its answer waits for nothing of the program's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "interposer/agreement/endpoint.hpp"
#include "interposer/agreement/messages.hpp"

namespace braid::interposer {

/// Decides what is made in parts in a range; called on the helper thread, once a range.
using RangeDecider = std::function<std::vector<PlanEntry>(uint64_t from, uint64_t to)>;

/// What the ranks said of themselves, judged. Pure; tested alone.
Verdict judge(const std::map<int, CheckIn>& check_ins, int n_ranks, uint64_t own_process);

class Coordinator {
 public:
  /// The process's coordinator; its thread starts with the first id that is stamped.
  static Coordinator& instance();

  /// Opens the meeting of a new communicator and stamps its id. Does nothing (the communicator will
  /// run as stock) when there is no socket or the tail is in use.
  void stamp(ncclUniqueId* id);

  /// A rank of this process has joined: its observations decide from now on.
  void add_member(const Token& token, int rank, RangeDecider decider);

  /// A rank of this process leaves. With the last one, the ranges entered so far and "stock
  /// afterwards" are handed out to all.
  void remove_member(const Token& token, int rank);

  /// The process ends: farewell to all meetings.
  void close();

 private:
  struct Connection {
    int descriptor = -1;
    std::vector<uint8_t> buffer;
    bool checked_in = false;
    Token token{};
    int rank = -1;
    uint64_t sent_until = 0;  // ranges up to here were handed to this rank
  };
  struct Meeting {
    std::map<int, CheckIn> check_ins;
    bool judged = false;
    Verdict verdict;
    std::map<int, RangeDecider> members;
    bool had_member = false;
    bool farewell = false;
    std::vector<PlanRange> ranges;
  };

  Coordinator() = default;
  bool start();
  void serve();
  bool serve_once();  // false: the listener is broken
  void accept_connection();
  bool read_from(Connection& connection);  // false: the peer is gone or not one of ours
  void drop(size_t index);
  void announce_verdict(const Meeting& meeting, const Token& token);
  void trim_ranges(Meeting& meeting, const Token& token);
  bool handle(Connection& connection, const Message& message);
  bool answer_lease(Connection& connection, uint64_t from);
  void say_farewell(Meeting& meeting, const Token& token);

  std::mutex mutex_;  // guards everything below; the decider runs under it and takes only a
                      // communicator's lock
  bool started_ = false;
  bool failed_ = false;
  int listener_ = -1;
  Endpoint endpoint_;
  std::map<Token, Meeting> meetings_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

/// Digest of host and process id: tells whether a check-in came from this process.
uint64_t own_process_digest();

}  // namespace braid::interposer
