// Streams, hardware queues and what each task waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "model/simulator/workload.hpp"

namespace braid::model {

using TaskId = uint32_t;
inline constexpr TaskId kNoTask = ~TaskId{0};

/// Decides which tasks may run. Tasks of one stream run one after another; the legacy default
/// stream and the blocking streams of a device wait for each other. All streams of a device share
/// its hardware queues (stream i uses queue i modulo their number): a queue hands out its oldest
/// task only, so a task that waits holds up tasks of other streams behind it.
///
/// A kernel, copy or collective leaves its queue when the tasks before it in its stream are done.
/// An event record does not hold its queue (it has no timing to take). A wait holds the queue until
/// what it waits for is done; it does not wait for its own stream's earlier work to leave.
class StreamScheduler {
 public:
  enum class Kind {
    kRun,     // take_ready returns it; the caller ends it with finish
    kRecord,  // done when its stream's earlier work is
    kWait,    // holds its queue until its own conditions are met
  };

  StreamScheduler(const std::vector<DeviceInfo>& devices, int queues);

  /// Adds a task behind all that was issued on the stream before. `after`: further tasks it waits
  /// for before it leaves its queue. `holds`: conditions the caller reports with release.
  TaskId issue(int device, int stream, Kind kind, std::span<const TaskId> after, int holds = 0);

  /// One more task that `task` waits for before it leaves its queue; call before the release of a
  /// hold.
  void depend(TaskId task, TaskId on);
  void release(TaskId task);
  void finish(TaskId task);

  bool is_done(TaskId task) const { return nodes_[task].done; }
  /// The last task issued on a stream, kNoTask when there is none.
  TaskId last_on(int device, int stream) const {
    return last_[static_cast<size_t>(device)][static_cast<size_t>(stream)];
  }

  /// kRun tasks that left their queue since the last call, in order.
  std::vector<TaskId> take_ready();
  /// Tasks that got done since the last call, in order.
  std::vector<TaskId> take_done();

  /// Tasks at the head of their queues that cannot leave, for messages.
  std::vector<TaskId> stuck_heads() const;
  bool all_done() const { return unfinished_ == 0; }

 private:
  struct Node {
    int queue = 0;  // into queues_
    Kind kind = Kind::kRun;
    bool left = false;  // its queue
    bool done = false;
    int blockers = 0;                      // until it may leave its queue
    int finishers = 0;                     // until a record or wait is done
    std::vector<TaskId> blocks, finishes;  // tasks that wait for this one
  };

  void block_on(TaskId task, TaskId on);
  void finish_on(TaskId task, TaskId on);
  void pump(int queue);
  void settle();

  const std::vector<DeviceInfo>& devices_;
  int queues_a_device_;
  std::vector<Node> nodes_;
  std::vector<std::deque<TaskId>> queues_;
  std::vector<std::vector<TaskId>> last_;  // by device and stream
  std::vector<TaskId> ready_, done_, settling_;
  uint64_t unfinished_ = 0;
};

}  // namespace braid::model
