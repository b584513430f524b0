#include "model/simulator/streams.hpp"

#include <algorithm>
#include <utility>

namespace braid::model {

StreamScheduler::StreamScheduler(const std::vector<DeviceInfo>& devices, int queues)
    : devices_(devices), queues_a_device_(std::max(1, queues)) {
  queues_.resize(devices.size() * static_cast<size_t>(queues_a_device_));
  for (const DeviceInfo& device : devices) {
    last_.emplace_back(device.streams.size(), kNoTask);
  }
}

void StreamScheduler::block_on(TaskId task, TaskId on) {
  if (on != kNoTask && !nodes_[on].done) {
    nodes_[on].blocks.push_back(task);
    nodes_[task].blockers += 1;
  }
}

void StreamScheduler::finish_on(TaskId task, TaskId on) {
  if (on != kNoTask && !nodes_[on].done) {
    nodes_[on].finishes.push_back(task);
    nodes_[task].finishers += 1;
  }
}

TaskId StreamScheduler::issue(int device, int stream, Kind kind, std::span<const TaskId> after,
                              int holds) {
  const auto id = static_cast<TaskId>(nodes_.size());
  nodes_.emplace_back();
  ++unfinished_;
  std::vector<TaskId>& last = last_[static_cast<size_t>(device)];
  const std::vector<StreamInfo>& streams = devices_[static_cast<size_t>(device)].streams;

  const auto follow = [&](TaskId earlier) {
    if (kind == Kind::kRun) {
      block_on(id, earlier);
    } else {
      finish_on(id, earlier);
    }
  };
  follow(last[static_cast<size_t>(stream)]);
  if (stream == 0) {
    for (size_t other = 1; other < streams.size(); ++other) {
      if (streams[other].blocking) {
        follow(last[other]);
      }
    }
  } else if (streams[static_cast<size_t>(stream)].blocking) {
    follow(last[0]);
  }
  last[static_cast<size_t>(stream)] = id;

  for (const TaskId earlier : after) {
    block_on(id, earlier);
  }
  Node& node = nodes_[id];
  node.kind = kind;
  node.blockers += holds;
  node.queue = device * queues_a_device_ + stream % queues_a_device_;
  queues_[static_cast<size_t>(node.queue)].push_back(id);
  pump(node.queue);
  settle();
  return id;
}

void StreamScheduler::depend(TaskId task, TaskId on) { block_on(task, on); }

void StreamScheduler::release(TaskId task) {
  if (--nodes_[task].blockers == 0) {
    pump(nodes_[task].queue);
  }
  settle();
}

void StreamScheduler::finish(TaskId task) {
  settling_.push_back(task);
  settle();
}

void StreamScheduler::pump(int queue) {
  std::deque<TaskId>& tasks = queues_[static_cast<size_t>(queue)];
  while (!tasks.empty() && nodes_[tasks.front()].blockers == 0) {
    const TaskId id = tasks.front();
    tasks.pop_front();
    Node& node = nodes_[id];
    node.left = true;
    if (node.kind == Kind::kRun) {
      ready_.push_back(id);
    } else if (node.finishers == 0) {
      settling_.push_back(id);
    }
  }
}

void StreamScheduler::settle() {
  while (!settling_.empty()) {
    const TaskId id = settling_.back();
    settling_.pop_back();
    if (nodes_[id].done) {
      continue;
    }
    nodes_[id].done = true;
    --unfinished_;
    done_.push_back(id);
    const std::vector<TaskId> blocks = std::exchange(nodes_[id].blocks, {});
    const std::vector<TaskId> finishes = std::exchange(nodes_[id].finishes, {});
    for (const TaskId other : finishes) {
      Node& node = nodes_[other];
      if (--node.finishers == 0 && node.left) {
        settling_.push_back(other);
      }
    }
    for (const TaskId other : blocks) {
      if (--nodes_[other].blockers == 0) {
        pump(nodes_[other].queue);
      }
    }
  }
}

std::vector<TaskId> StreamScheduler::take_ready() { return std::exchange(ready_, {}); }

std::vector<TaskId> StreamScheduler::take_done() { return std::exchange(done_, {}); }

std::vector<TaskId> StreamScheduler::stuck_heads() const {
  std::vector<TaskId> heads;
  for (const std::deque<TaskId>& queue : queues_) {
    if (!queue.empty()) {
      heads.push_back(queue.front());
    }
  }
  return heads;
}

}  // namespace braid::model
