#include "model/simulator/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>

#include "model/cost/gemm.hpp"
#include "model/cost/kernel.hpp"
#include "model/simulator/collectives.hpp"
#include "model/simulator/compute.hpp"
#include "model/simulator/flows.hpp"
#include "model/simulator/stream_values.hpp"
#include "model/simulator/streams.hpp"

namespace braid::model {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kEventCallShare =
    0.25;                            // of a launch: recording or waiting for an event is cheaper
constexpr double kLongestUs = 1e12;  // eleven days: the trace is absurd
constexpr size_t kNamedHeads = 8;    // in a message

using Kind = StreamScheduler::Kind;

class Engine {
 public:
  Engine(const Scene& scene, const ModelFactors& factors)
      : scene_(scene),
        factors_(factors),
        streams_(scene.workload.devices, scene.hardware_queues),
        rendezvous_(scene),
        flows_(scene.network.capacities(), factors.bandwidth) {
    for (size_t i = 0; i < scene.workload.devices.size(); ++i) {
      pools_.emplace_back(scene.gpu.sm_count, factors.compute, factors.contention);
      host_gbps_.push_back(scene.network.host_gbps(scene.workload.devices[i].gpu));
      peer_gbps_.push_back(scene.network.best_peer_gbps(scene.workload.devices[i].gpu));
    }
    events_.resize(scene.trace.ranks.size());
    values_.resize(scene.trace.ranks.size());
    last_collective_.resize(scene.workload.communicators.size());
    for (const Program& program : scene.workload.programs) {
      hosts_.emplace_back();
      hosts_.back().threads.resize(static_cast<size_t>(program.threads));
      schedule_.times.emplace_back(program.ops.size());
      schedule_.algorithms.emplace_back(program.ops.size());
    }
  }

  Result<Schedule> run() {
    while (true) {
      double next = flows_.next_end_us();
      if (!timers_.empty()) {
        next = std::min(next, timers_.top().us);
      }
      for (const SmPool& pool : pools_) {
        next = std::min(next, pool.next_us());
      }
      for (size_t program = 0; program < hosts_.size(); ++program) {
        next = std::min(next, next_issue_us(program));
      }
      if (next == kNever) {
        break;
      }
      if (next <= now_us_ && !progressed_) {  // below the clock's resolution
        next = now_us_ + std::max(1e-9, now_us_ * 1e-15);
      }
      now_us_ = std::max(now_us_, next);
      if (now_us_ > kLongestUs) {
        return fail(scene_.trace.ranks.front().path,
                    "the replay passes eleven days; a record of it has an absurd size");
      }
      progressed_ = false;
      step();
    }
    const bool hosts_done = std::all_of(hosts_.begin(), hosts_.end(), [&](const Host& host) {
      return host.next ==
             scene_.workload.programs[static_cast<size_t>(&host - hosts_.data())].ops.size();
    });
    if (!hosts_done || !streams_.all_done()) {
      return deadlock();
    }
    rank_guesses();
    return std::move(schedule_);
  }

 private:
  struct Thread {
    double ready_us = 0;
    int blocked_on = 0;  // tasks it waits for
  };
  struct Host {
    std::vector<Thread> threads;
    size_t next = 0;
    double last_us = 0;
  };
  struct TaskInfo {
    uint32_t program = 0;
    uint32_t op = 0;
    std::vector<std::pair<uint32_t, int>> blocked_threads;  // program, thread
  };
  struct Timer {
    double us;
    uint64_t sequence;
    TaskId task;        // ends then; or kNoTask:
    Transfer transfer;  // starts then
    bool operator<(const Timer& other) const {
      return std::tie(us, sequence) > std::tie(other.us, other.sequence);
    }
  };
  struct EventState {
    TaskId task = kNoTask;
    std::vector<TaskId> waiting;
    std::vector<std::pair<uint32_t, int>> threads;
  };

  const Program& program(size_t index) const { return scene_.workload.programs[index]; }
  const Op& op_of(TaskId task) const { return program(tasks_[task].program).ops[tasks_[task].op]; }
  const trace::Record& record_of(const Program& of, const Op& op) const {
    return scene_.trace.ranks[static_cast<size_t>(of.file)].records[op.record];
  }
  OpTimes& times_of(TaskId task) { return schedule_.times[tasks_[task].program][tasks_[task].op]; }
  int priority_of(const Op& op) const {
    return scene_.workload.devices[static_cast<size_t>(op.device)]
        .streams[static_cast<size_t>(op.stream)]
        .priority;
  }

  double host_cost(const Op& op) const {
    switch (op.kind) {
      case OpKind::kCollective:
      case OpKind::kMessages:
        return scene_.gpu.collective_launch_us * factors_.launch;
      case OpKind::kEventRecord:
      case OpKind::kStreamWait:
      case OpKind::kHostWait:
        return scene_.gpu.launch_us * factors_.launch * kEventCallShare;
      default:
        return scene_.gpu.launch_us * factors_.launch;
    }
  }

  double next_issue_us(size_t index) const {
    const Host& host = hosts_[index];
    const std::vector<Op>& ops = program(index).ops;
    if (host.next == ops.size()) {
      return kNever;
    }
    const Op& op = ops[host.next];
    const Thread& thread = host.threads[static_cast<size_t>(op.thread)];
    return thread.blocked_on > 0 ? kNever : std::max(thread.ready_us, host.last_us) + host_cost(op);
  }

  void step() {
    while (!timers_.empty() && timers_.top().us <= now_us_) {
      Timer timer = timers_.top();
      timers_.pop();
      progressed_ = true;
      if (timer.task != kNoTask) {
        finish(timer.task);
      } else {
        flows_.start(now_us_, timer.transfer.token, std::move(timer.transfer.cost.loads),
                     timer.transfer.cost.least_us / factors_.bandwidth);
      }
    }
    if (!flows_.empty() && flows_.next_end_us() <= now_us_) {
      for (const uint64_t token : flows_.take_finished(now_us_)) {
        progressed_ = true;
        for (const TaskId task : rendezvous_.end(token)) {
          pools_[static_cast<size_t>(op_of(task).device)].release_collective(now_us_, task);
          finish(task);
        }
      }
    }
    settle();
    for (SmPool& pool : pools_) {
      if (pool.next_us() <= now_us_) {
        report(pool);
      }
    }
    settle();
    for (size_t index = 0; index < hosts_.size(); ++index) {
      while (next_issue_us(index) <= now_us_) {
        progressed_ = true;
        issue(index);
        settle();
      }
    }
  }

  void report(SmPool& pool) {
    PoolChanges changes = pool.update(now_us_);
    progressed_ = progressed_ || !changes.started.empty() || !changes.finished.empty() ||
                  !changes.granted.empty();
    for (const TaskId task : changes.started) {
      times_of(task).start_us = now_us_;
    }
    for (const TaskId task : changes.finished) {
      finish(task);
    }
    for (const TaskId task : changes.granted) {
      times_of(task).start_us = now_us_;
      start_transfers(rendezvous_.arrive(task, op_of(task), program(tasks_[task].program).file));
    }
  }

  void start_transfers(std::vector<Transfer> transfers) {
    for (Transfer& transfer : transfers) {
      const double at =
          now_us_ + scene_.gpu.kernel_start_us + transfer.cost.latency_us * factors_.latency;
      timers_.push(Timer{at, sequence_++, kNoTask, std::move(transfer)});
    }
  }

  void finish(TaskId task) {
    progressed_ = true;
    streams_.finish(task);
  }

  /// Starts what left its queue and tells those who waited for what is done, until nothing more
  /// follows.
  void settle() {
    while (true) {
      const std::vector<TaskId> done = streams_.take_done();
      const std::vector<TaskId> ready = streams_.take_ready();
      if (done.empty() && ready.empty()) {
        return;
      }
      for (const TaskId task : done) {
        times_of(task).end_us = now_us_;
        for (const auto& [program_index, thread_index] : tasks_[task].blocked_threads) {
          unblock(program_index, thread_index);
        }
        tasks_[task].blocked_threads = {};
      }
      for (const TaskId task : ready) {
        start(task);
      }
    }
  }

  void unblock(uint32_t program_index, int thread_index) {
    Thread& thread = hosts_[program_index].threads[static_cast<size_t>(thread_index)];
    if (--thread.blocked_on == 0) {
      thread.ready_us = std::max(thread.ready_us, now_us_);
    }
  }

  void run_for(TaskId task, double us) {
    times_of(task).start_us = now_us_;
    timers_.push(Timer{now_us_ + us, sequence_++, task, {}});
  }

  /// A task has left its queue and takes its resource.
  void start(TaskId task) {
    const Program& of = program(tasks_[task].program);
    const Op& op = op_of(task);
    const trace::Record& record = record_of(of, op);
    SmPool& pool = pools_[static_cast<size_t>(op.device)];
    switch (op.kind) {
      case OpKind::kGemm: {
        const auto& gemm = std::get<trace::Gemm>(record.payload);
        const GemmShape shape{gemm.m,
                              gemm.n,
                              gemm.k,
                              gemm.batch,
                              static_cast<trace::ElementType>(gemm.type),
                              static_cast<trace::ElementType>(gemm.output_type)};
        pool.add_kernel(now_us_, task,
                        gemm_cost(scene_.gpu, shape, std::max(0, gemm.sm_target)).compute,
                        priority_of(op));
        break;
      }
      case OpKind::kKernel: {
        const auto& kernel = std::get<trace::Kernel>(record.payload);
        const KernelCost cost = kernel_cost(scene_.gpu, kernel);
        if (cost.guessed) {
          guesses_[scene_.trace.ranks[static_cast<size_t>(of.file)].name(kernel.name)] +=
              cost.compute.time_us(cost.compute.useful_sms(scene_.gpu.sm_count)) * factors_.compute;
        }
        pool.add_kernel(now_us_, task, cost.compute, priority_of(op));
        break;
      }
      case OpKind::kCopy: {
        const auto device = static_cast<size_t>(op.device);
        const double us = copy_time_us(scene_.gpu, std::get<trace::Copy>(record.payload),
                                       host_gbps_[device], peer_gbps_[device]);
        run_for(task, us / factors_.bandwidth);
        break;
      }
      case OpKind::kCollective:
        start_collective(task, of, op, pool);
        break;
      case OpKind::kMessages:
        pool.add_collective(now_us_, task, scene_.network.price_message(0, 0, 0).channels,
                            priority_of(op));
        break;
      case OpKind::kWriteValue: {
        const auto& write = std::get<trace::WaitValue>(record.payload);
        for (const TaskId waiting : values_[static_cast<size_t>(of.file)].write(write)) {
          streams_.release(waiting);
        }
        finish(task);
        break;
      }
      default:
        run_for(task,
                op.kind == OpKind::kHostFunction ? scene_.gpu.launch_us * factors_.launch : 0);
        break;
    }
  }

  void start_collective(TaskId task, const Program& of, const Op& op, SmPool& pool) {
    const TaskInfo& info = tasks_[task];
    const auto& call = std::get<trace::Collective>(record_of(of, op).payload);
    const auto n_ranks =
        scene_.workload.communicators[static_cast<size_t>(op.communicator)].devices.size();
    if (n_ranks == 1) {  // NCCL copies, or does nothing in place
      const double bytes = static_cast<double>(call_bytes(call_of(call), 1));
      const bool in_place = call.send_address == call.receive_address;
      schedule_.algorithms[info.program][info.op] = "copy";
      run_for(task,
              scene_.gpu.kernel_start_us +
                  (in_place ? 0 : memory_time_us(scene_.gpu, 2 * bytes) / factors_.bandwidth));
      return;
    }
    const CommunicationCost& cost = rendezvous_.cost_of(op, of.file);
    schedule_.algorithms[info.program][info.op] = cost.algorithm;
    pool.add_collective(now_us_, task, cost.channels, priority_of(op));
  }

  static uint64_t event_key(uint32_t event, uint32_t recording) {
    return static_cast<uint64_t>(event) << 32 | recording;
  }

  /// The host thread makes its next call.
  void issue(size_t index) {
    Host& host = hosts_[index];
    const Program& of = program(index);
    const auto op_index = static_cast<uint32_t>(host.next);
    const Op& op = of.ops[host.next];
    Thread& thread = host.threads[static_cast<size_t>(op.thread)];
    thread.ready_us = host.last_us = now_us_;
    host.next += 1;
    const auto program_index = static_cast<uint32_t>(index);
    if (op.kind == OpKind::kHostWait) {
      schedule_.times[index][op_index].end_us = now_us_;
      host_wait(program_index, of, op);
      return;
    }
    std::vector<TaskId> after;
    int holds = 0;
    Kind kind = Kind::kRun;
    EventState* event = nullptr;
    if (op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWait) {
      const auto& named = std::get<trace::Event>(record_of(of, op).payload);
      event = &events_[static_cast<size_t>(of.file)][event_key(named.event, named.recording)];
      kind = op.kind == OpKind::kEventRecord ? Kind::kRecord : Kind::kWait;
      if (op.kind == OpKind::kStreamWait) {
        after.push_back(event->task);
        holds = event->task == kNoTask ? 1 : 0;
      }
    } else if (op.kind == OpKind::kWaitValue) {
      kind = Kind::kWait;
      const auto& wait = std::get<trace::WaitValue>(record_of(of, op).payload);
      holds = values_[static_cast<size_t>(of.file)].is_reached(wait) ? 0 : 1;
    } else if (op.kind == OpKind::kCollective || op.kind == OpKind::kMessages) {
      // One communicator launches in call order, across streams (nccl_facts J.4).
      const auto [last, fresh] =
          last_collective_[static_cast<size_t>(op.communicator)].try_emplace(op.device, kNoTask);
      after.push_back(last->second);
    }
    tasks_.push_back(TaskInfo{program_index, op_index, {}});
    const TaskId task = streams_.issue(op.device, op.stream, kind, after, holds);
    after_issue(task, of, op, event, holds);
    if (op.kind == OpKind::kCopy) {
      const auto& copy = std::get<trace::Copy>(record_of(of, op).payload);
      if (copy.asynchronous == 0 && !streams_.is_done(task)) {
        block(program_index, op.thread, task);
      }
    }
  }

  void after_issue(TaskId task, const Program& of, const Op& op, EventState* event, int holds) {
    if (op.kind == OpKind::kCollective || op.kind == OpKind::kMessages) {
      last_collective_[static_cast<size_t>(op.communicator)][op.device] = task;
    } else if (op.kind == OpKind::kEventRecord) {
      event->task = task;
      for (const TaskId waiting : std::exchange(event->waiting, {})) {
        streams_.depend(waiting, task);
        streams_.release(waiting);
      }
      for (const auto& [program_index, thread_index] : std::exchange(event->threads, {})) {
        if (streams_.is_done(task)) {
          unblock(program_index, thread_index);
        } else {
          tasks_[task].blocked_threads.emplace_back(program_index, thread_index);
        }
      }
    } else if (op.kind == OpKind::kStreamWait && holds > 0) {
      event->waiting.push_back(task);
    } else if (op.kind == OpKind::kWaitValue && holds > 0) {
      values_[static_cast<size_t>(of.file)].wait(
          task, std::get<trace::WaitValue>(record_of(of, op).payload));
    }
  }

  void block(uint32_t program_index, int thread_index, TaskId task) {
    hosts_[program_index].threads[static_cast<size_t>(thread_index)].blocked_on += 1;
    tasks_[task].blocked_threads.emplace_back(program_index, thread_index);
  }

  void host_wait(uint32_t program_index, const Program& of, const Op& op) {
    const auto& wait = std::get<trace::HostWait>(record_of(of, op).payload);
    const auto block_on = [&](TaskId task) {
      if (task != kNoTask && !streams_.is_done(task)) {
        block(program_index, op.thread, task);
      }
    };
    const auto& device = scene_.workload.devices[static_cast<size_t>(op.device)];
    switch (static_cast<trace::HostWaitKind>(wait.kind)) {
      case trace::HostWaitKind::kEvent: {
        EventState& event =
            events_[static_cast<size_t>(of.file)][event_key(wait.event, wait.recording)];
        if (event.task == kNoTask) {
          hosts_[program_index].threads[static_cast<size_t>(op.thread)].blocked_on += 1;
          event.threads.emplace_back(program_index, op.thread);
        } else {
          block_on(event.task);
        }
        break;
      }
      case trace::HostWaitKind::kDevice:
        for (size_t stream = 0; stream < device.streams.size(); ++stream) {
          block_on(streams_.last_on(op.device, static_cast<int>(stream)));
        }
        break;
      case trace::HostWaitKind::kStream:
      case trace::HostWaitKind::kCopy:
        block_on(streams_.last_on(op.device, op.stream));
        for (size_t stream = 1; op.stream == 0 && stream < device.streams.size(); ++stream) {
          if (device.streams[stream].blocking) {
            block_on(streams_.last_on(op.device, static_cast<int>(stream)));
          }
        }
        break;
    }
  }

  std::string describe(TaskId task) const {
    const Op& op = op_of(task);
    const DeviceInfo& device = scene_.workload.devices[static_cast<size_t>(op.device)];
    std::string what = "rank " + std::to_string(device.rank) + " stream " +
                       std::to_string(device.streams[static_cast<size_t>(op.stream)].id) +
                       " (record " + std::to_string(op.record) + ") ";
    const trace::Record& record = record_of(program(tasks_[task].program), op);
    switch (op.kind) {
      case OpKind::kStreamWait: {
        const auto& event = std::get<trace::Event>(record.payload);
        return what + "waits for recording " + std::to_string(event.recording) + " of event " +
               std::to_string(event.event);
      }
      case OpKind::kWaitValue: {
        const auto& wait = std::get<trace::WaitValue>(record.payload);
        return what + "waits for value " + std::to_string(wait.value) + " at address " +
               std::to_string(wait.address);
      }
      case OpKind::kCollective:
      case OpKind::kMessages:
        return what + "waits for its stream's or communicator's earlier work";
      default:
        return what + "waits for its stream's earlier work";
    }
  }

  tl::unexpected<Error> deadlock() const {
    std::string message = "the replay cannot go on after " + std::to_string(now_us_) + " µs: ";
    std::vector<std::string> reasons = rendezvous_.waiting();
    for (const TaskId task : streams_.stuck_heads()) {
      reasons.push_back(describe(task));
    }
    for (size_t index = 0; index < hosts_.size(); ++index) {
      if (hosts_[index].next < program(index).ops.size()) {
        reasons.push_back("a thread of " +
                          scene_.trace.ranks[static_cast<size_t>(program(index).file)].path +
                          " waits before record " +
                          std::to_string(program(index).ops[hosts_[index].next].record));
      }
    }
    for (size_t i = 0; i < reasons.size() && i < kNamedHeads; ++i) {
      message += (i == 0 ? "" : "; ") + reasons[i];
    }
    if (reasons.size() > kNamedHeads) {
      message += "; and " + std::to_string(reasons.size() - kNamedHeads) + " more";
    }
    return fail(scene_.trace.ranks.front().path, message);
  }

  void rank_guesses() {
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [name, us] : guesses_) {
      order.emplace_back(-us, name);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [us, name] : order) {
      schedule_.guessed_kernels.push_back(name);
      schedule_.guessed_us.push_back(-us);
    }
  }

  const Scene& scene_;
  const ModelFactors& factors_;
  StreamScheduler streams_;
  Rendezvous rendezvous_;
  FlowNetwork flows_;
  std::vector<SmPool> pools_;  // by device
  std::vector<double> host_gbps_, peer_gbps_;
  std::vector<Host> hosts_;  // by program
  std::vector<TaskInfo> tasks_;
  std::priority_queue<Timer> timers_;
  std::vector<std::unordered_map<uint64_t, EventState>> events_;  // by file
  std::vector<StreamValues> values_;                              // by file
  std::vector<std::unordered_map<int, TaskId>> last_collective_;  // by communicator and device
  std::map<std::string, double> guesses_;
  Schedule schedule_;
  double now_us_ = 0;
  uint64_t sequence_ = 0;
  bool progressed_ = true;
};

}  // namespace

Result<Schedule> run_engine(const Scene& scene, const ModelFactors& factors) {
  return Engine(scene, factors).run();
}

}  // namespace braid::model
