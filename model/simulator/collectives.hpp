// Collectives and messages that wait for their peers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/cost/communication.hpp"
#include "model/simulator/engine.hpp"
#include "model/simulator/streams.hpp"

namespace braid::model {

/// A transfer whose partners have all arrived.
struct Transfer {
  uint64_t token = 0;
  CommunicationCost cost;
};

/// Brings the ranks' parts of collectives and messages together. A collective transfers when all
/// ranks hold their SMs; a send/recv group ends on a rank when all its messages have.
class Rendezvous {
 public:
  explicit Rendezvous(const Scene& scene) : scene_(scene) {}

  /// The cost of a collective op, the same on all ranks; made once a signature.
  const CommunicationCost& cost_of(const Op& op, int file);

  /// A rank's part holds its SMs. Returns what can now transfer.
  std::vector<Transfer> arrive(TaskId task, const Op& op, int file);

  /// A transfer has ended. Returns the tasks that end with it.
  std::vector<TaskId> end(uint64_t token);

  /// "AllReduce 3 of communicator 'tp' waits for ranks 1, 2", for messages; empty when nothing
  /// waits.
  std::vector<std::string> waiting() const;

 private:
  struct Gathering {  // a collective that not all ranks have reached
    std::vector<TaskId> tasks;
    std::vector<int> devices;
    std::string name;
  };
  struct HalfMessage {
    TaskId task = kNoTask;
    uint64_t bytes = 0;
  };
  using CallKey = std::tuple<int, uint32_t, uint64_t, uint32_t, int32_t>;
  using MessageKey = std::tuple<int, int, int>;  // communicator, source rank, destination rank

  std::optional<int> rank_of(int communicator, int device) const;

  const Scene& scene_;
  std::map<CallKey, CommunicationCost> costs_;
  std::map<std::pair<int, uint64_t>, Gathering> gathering_;
  std::map<MessageKey, std::vector<HalfMessage>> sends_, receives_;  // without partner yet
  std::unordered_map<TaskId, int> open_messages_;
  std::unordered_map<uint64_t, std::vector<TaskId>> in_transfer_;
  uint64_t next_token_ = 0;
};

}  // namespace braid::model
