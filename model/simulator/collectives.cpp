#include "model/simulator/collectives.hpp"

#include <algorithm>

namespace braid::model {

const CommunicationCost& Rendezvous::cost_of(const Op& op, int file) {
  const auto& record = std::get<trace::Collective>(
      scene_.trace.ranks[static_cast<size_t>(file)].records[op.record].payload);
  const CallKey key{op.communicator, record.function, record.count, record.type, record.root};
  const auto found = costs_.find(key);
  if (found != costs_.end()) {
    return found->second;
  }
  const CommunicatorInfo& communicator =
      scene_.workload.communicators[static_cast<size_t>(op.communicator)];
  std::vector<int> gpus;
  for (const int device : communicator.devices) {
    gpus.push_back(scene_.workload.devices[static_cast<size_t>(device)].gpu);
  }
  return costs_
      .emplace(key, scene_.network.price(scene_.plans[static_cast<size_t>(op.communicator)], gpus,
                                         call_of(record), scene_.max_channels))
      .first->second;
}

std::optional<int> Rendezvous::rank_of(int communicator, int device) const {
  const std::vector<int>& devices =
      scene_.workload.communicators[static_cast<size_t>(communicator)].devices;
  const auto it = std::find(devices.begin(), devices.end(), device);
  if (it == devices.end()) {
    return std::nullopt;
  }
  return static_cast<int>(it - devices.begin());
}

std::vector<Transfer> Rendezvous::arrive(TaskId task, const Op& op, int file) {
  std::vector<Transfer> transfers;
  if (op.kind == OpKind::kCollective) {
    Gathering& gathering = gathering_[{op.communicator, op.order}];
    gathering.tasks.push_back(task);
    gathering.devices.push_back(op.device);
    const size_t expected =
        scene_.workload.communicators[static_cast<size_t>(op.communicator)].devices.size();
    if (gathering.tasks.size() < expected) {
      if (gathering.name.empty()) {
        const auto& record = std::get<trace::Collective>(
            scene_.trace.ranks[static_cast<size_t>(file)].records[op.record].payload);
        gathering.name = trace::name_of(static_cast<trace::CollectiveFunction>(record.function));
      }
      return transfers;
    }
    transfers.push_back({next_token_, cost_of(op, file)});
    in_transfer_[next_token_++] = std::move(gathering.tasks);
    gathering_.erase({op.communicator, op.order});
    return transfers;
  }

  const std::optional<int> rank = rank_of(op.communicator, op.device);
  open_messages_[task] = static_cast<int>(op.messages.size());
  for (const Message& message : op.messages) {
    const int own = rank.value_or(0);
    const MessageKey key = message.sends ? MessageKey{op.communicator, own, message.peer}
                                         : MessageKey{op.communicator, message.peer, own};
    std::vector<HalfMessage>& partners = (message.sends ? receives_ : sends_)[key];
    if (partners.empty()) {
      (message.sends ? sends_ : receives_)[key].push_back({task, message.bytes});
      continue;
    }
    const HalfMessage partner = partners.front();
    partners.erase(partners.begin());
    const std::vector<int>& devices =
        scene_.workload.communicators[static_cast<size_t>(op.communicator)].devices;
    const auto gpu_of = [&](int of_rank) {
      const int device = devices[static_cast<size_t>(of_rank)];
      return device < 0 ? -1 : scene_.workload.devices[static_cast<size_t>(device)].gpu;
    };
    const int from = gpu_of(std::get<1>(key)), to = gpu_of(std::get<2>(key));
    // What a receiver has room for may exceed what is sent; the smaller moves.
    transfers.push_back({next_token_, scene_.network.price_message(
                                          from, to, std::min(message.bytes, partner.bytes))});
    in_transfer_[next_token_++] = {partner.task, task};
  }
  return transfers;
}

std::vector<TaskId> Rendezvous::end(uint64_t token) {
  const auto it = in_transfer_.find(token);
  std::vector<TaskId> tasks = std::move(it->second);
  in_transfer_.erase(it);
  std::vector<TaskId> ended;
  for (const TaskId task : tasks) {
    const auto open = open_messages_.find(task);
    if (open == open_messages_.end()) {
      ended.push_back(task);
    } else if (--open->second == 0) {
      open_messages_.erase(open);
      ended.push_back(task);
    }
  }
  return ended;
}

std::vector<std::string> Rendezvous::waiting() const {
  std::vector<std::string> lines;
  for (const auto& [key, gathering] : gathering_) {
    const CommunicatorInfo& communicator =
        scene_.workload.communicators[static_cast<size_t>(key.first)];
    std::string absent;
    for (size_t rank = 0; rank < communicator.devices.size(); ++rank) {
      if (std::find(gathering.devices.begin(), gathering.devices.end(),
                    communicator.devices[rank]) == gathering.devices.end()) {
        absent += (absent.empty() ? "" : ", ") + std::to_string(rank);
      }
    }
    lines.push_back(gathering.name + " number " + std::to_string(key.second) + " of communicator " +
                    (communicator.name.empty() ? std::to_string(communicator.hash)
                                               : "'" + communicator.name + "'") +
                    " waits for ranks " + absent);
  }
  const auto add_halves = [&](const auto& halves, const char* what) {
    for (const auto& [key, waiting] : halves) {
      if (!waiting.empty()) {
        lines.push_back(std::string("a ") + what + " from rank " +
                        std::to_string(std::get<1>(key)) + " to rank " +
                        std::to_string(std::get<2>(key)) + " has no partner");
      }
    }
  };
  add_halves(sends_, "send");
  add_halves(receives_, "receive");
  return lines;
}

}  // namespace braid::model
