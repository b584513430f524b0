#include "vgpu/nccl/group.hpp"

#include <algorithm>
#include <thread>

#include "vgpu/nccl/device_scope.hpp"
#include "vgpu/nccl/launch.hpp"
#include "vgpu/nccl/log.hpp"
#include "vgpu/nccl/profiler.hpp"
#include "vgpu/nccl/selection.hpp"

namespace braid::vgpu::nccl {
namespace {

/// One communicator's part of a group.
struct Plan {
  CommunicatorRef communicator;
  LaunchContent content;
  void* api_event = nullptr;
  void* group_event = nullptr;
};

struct Group {
  std::vector<CommunicatorJob> jobs;
  std::vector<Plan> plans;
  ncclResult_t error = ncclSuccess;
};

/// Plain data only: a library's exit handlers may still call in when a thread ends.
thread_local int depth = 0;
thread_local Group* current = nullptr;

Group& group() {
  if (current == nullptr) {
    current = new Group;
  }
  return *current;
}

std::unique_ptr<Group> take_group() {
  std::unique_ptr<Group> taken(current);
  current = nullptr;
  return taken;
}

Plan& plan_of(const CommunicatorRef& communicator) {
  std::vector<Plan>& plans = group().plans;
  for (Plan& plan : plans) {
    if (plan.communicator == communicator) {
      return plan;
    }
  }
  Plan& plan = plans.emplace_back();
  plan.communicator = communicator;
  if (communicator->profiler != nullptr) {
    EventFacts facts;
    facts.kind = abi::kEventGroupApi;
    facts.depth = depth;
    plan.api_event = communicator->profiler->start(facts);
  }
  return plan;
}

void add_stream(Plan& plan, CUstream stream) {
  auto& streams = plan.content.streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    streams.push_back(stream);
  }
}

/// Thread blocks of a launch: the widest of its collectives, or two for each peer of its messages
/// (rounded up to a power of two) within what the communicator has.
int launch_channels(const Communicator& communicator, const LaunchContent& content) {
  int channels = 1;
  for (const CollectiveOperation& operation : content.collectives) {
    channels = std::max(channels, operation.channels);
  }
  std::vector<bool> peers(static_cast<size_t>(communicator.ranks));
  for (const MessageOperation& message : content.messages) {
    peers[static_cast<size_t>(message.peer)] = true;
  }
  const auto wanted = static_cast<int>(2 * std::count(peers.begin(), peers.end(), true));
  int limit = 1;
  while (limit < static_cast<int>(communicator.plan.ring_channels.size())) {
    limit *= 2;
  }
  return std::max(channels, std::min(wanted, limit));
}

void start_events(Plan& plan) {
  Communicator& communicator = *plan.communicator;
  if (communicator.profiler == nullptr) {
    return;
  }
  ProfilerSession& profiler = *communicator.profiler;
  EventFacts facts;
  facts.kind = abi::kEventGroup;
  plan.group_event = profiler.start(facts);
  const bool has_api = plan.api_event != nullptr;
  for (CollectiveOperation& operation : plan.content.collectives) {
    facts = {};
    facts.kind = abi::kEventCollective;
    facts.parent = has_api ? operation.api_event : plan.group_event;
    facts.parent_group = plan.group_event;
    facts.function = operation.function;
    facts.sequence = operation.sequence;
    facts.send = operation.send;
    facts.receive = operation.receive;
    facts.count = operation.count;
    facts.datatype = operation.datatype;
    facts.operation = static_cast<uint32_t>(operation.operation);
    facts.root = operation.root;
    facts.traffic_bytes = model_bytes(operation, communicator.ranks);
    facts.channels = operation.channels;
    facts.algorithm_index = operation.algorithm;
    facts.protocol_index = operation.protocol;
    facts.algorithm = model::algorithm_name(operation.algorithm);
    facts.protocol = model::protocol_name(operation.protocol);
    operation.event = profiler.start(facts);
  }
  for (MessageOperation& message : plan.content.messages) {
    facts = {};
    facts.kind = abi::kEventPointToPoint;
    facts.parent = has_api ? message.api_event : plan.group_event;
    facts.parent_group = plan.group_event;
    facts.function = message.is_send ? abi::kSend : abi::kRecv;
    facts.receive = message.buffer;
    facts.count = message.count;
    facts.datatype = message.datatype;
    facts.peer = message.peer;
    facts.channels = 1;
    message.event = profiler.start(facts);
  }
}

/// Host events end when the launch has been enqueued, as NCCL's do.
void stop_events(const Plan& plan, const LaunchContent& content) {
  ProfilerSession* profiler = plan.communicator->profiler.get();
  if (profiler == nullptr) {
    return;
  }
  for (const CollectiveOperation& operation : content.collectives) {
    profiler->stop(operation.event);
  }
  for (const MessageOperation& message : content.messages) {
    profiler->stop(message.event);
  }
  profiler->stop(plan.group_event);
  profiler->stop(plan.api_event);
}

ncclResult_t launch_plan(Plan& plan) {
  const CommunicatorRef& communicator = plan.communicator;
  double time_us = 0;
  BRAID_NCCL_TRY(select(*communicator, &plan.content.collectives, &time_us));
  plan.content.channels = launch_channels(*communicator, plan.content);
  {
    std::lock_guard lock(communicator->mutex);
    for (CollectiveOperation& operation : plan.content.collectives) {
      operation.sequence = communicator->enqueued_collectives++;
    }
  }
  start_events(plan);
  void* launch_event = nullptr;
  if (communicator->profiler != nullptr) {
    EventFacts facts;
    facts.kind = abi::kEventKernelLaunch;
    facts.parent = plan.api_event;
    facts.stream = plan.content.streams.front();
    launch_event = communicator->profiler->start(facts);
  }
  const LaunchContent content = plan.content;
  const ncclResult_t result = enqueue_launch(communicator, std::move(plan.content));
  if (communicator->profiler != nullptr) {
    communicator->profiler->stop(launch_event);
  }
  stop_events(plan, content);
  return result;
}

ncclResult_t run_job(const CommunicatorJob& job) {
  const DeviceScope scope(job.device);
  return job.work();
}

/// Several initialisations wait for each other, so each has a thread.
ncclResult_t run_jobs(const std::vector<CommunicatorJob>& jobs) {
  std::vector<ncclResult_t> results(jobs.size(), ncclSuccess);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < jobs.size(); ++i) {
    threads.emplace_back([&jobs, &results, i] { results[i] = run_job(jobs[i]); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](ncclResult_t result) { return result != ncclSuccess; });
  return failed == results.end() ? ncclSuccess : *failed;
}

/// A self-message has to meet its other half inside its own launch.
ncclResult_t check_self_messages(const Plan& plan) {
  const int self = plan.communicator->rank;
  int64_t balance = 0;
  for (const MessageOperation& message : plan.content.messages) {
    if (message.peer == self) {
      balance += message.is_send ? 1 : -1;
    }
  }
  if (balance != 0) {
    return reject(ncclInvalidUsage, "Trying to %s self without a matching %s",
                  balance > 0 ? "send to" : "recv from", balance > 0 ? "recv" : "send");
  }
  return ncclSuccess;
}

ncclResult_t run_group(Group& work) {
  BRAID_NCCL_TRY(run_jobs(work.jobs));
  for (const Plan& plan : work.plans) {
    BRAID_NCCL_TRY(check_self_messages(plan));
  }
  for (Plan& plan : work.plans) {
    BRAID_NCCL_TRY(launch_plan(plan));
  }
  return ncclSuccess;
}

std::vector<CommunicatorRef> communicators_of(const Group& work) {
  std::vector<CommunicatorRef> all;
  for (const CommunicatorJob& job : work.jobs) {
    all.insert(all.end(), job.communicators.begin(), job.communicators.end());
  }
  for (const Plan& plan : work.plans) {
    all.push_back(plan.communicator);
  }
  return all;
}

void settle(const std::vector<CommunicatorRef>& communicators, ncclResult_t result) {
  for (const CommunicatorRef& communicator : communicators) {
    ncclResult_t in_progress = ncclInProgress;
    communicator->async_result.compare_exchange_strong(in_progress, result);
  }
}

/// Hands a group of nonblocking communicators to a thread of its own.
ncclResult_t run_in_background(std::unique_ptr<Group> work) {
  const std::vector<CommunicatorRef> communicators = communicators_of(*work);
  const int device = current_device();
  for (const CommunicatorRef& communicator : communicators) {
    ncclResult_t success = ncclSuccess;
    communicator->async_result.compare_exchange_strong(success, ncclInProgress);
  }
  auto job = std::make_shared<BackgroundJob>(
      [work = std::shared_ptr<Group>(std::move(work)), communicators, device] {
        set_current_device(device);
        settle(communicators, run_group(*work));
      });
  for (const CommunicatorRef& communicator : communicators) {
    std::shared_ptr<BackgroundJob> previous;  // joined outside the lock
    std::lock_guard lock(communicator->mutex);
    previous = std::exchange(communicator->background, job);
  }
  return ncclInProgress;
}

}  // namespace

int group_depth() { return depth; }

ncclResult_t open_group() {
  ++depth;
  return ncclSuccess;
}

void note_group_error(ncclResult_t result) {
  if (result != ncclSuccess && result != ncclInProgress && depth > 0) {
    group().error = result;
  }
}

void add_job(CommunicatorJob job) { group().jobs.push_back(std::move(job)); }

void add_collective(const CommunicatorRef& communicator, const CollectiveOperation& operation,
                    CUstream stream) {
  Plan& plan = plan_of(communicator);
  plan.content.collectives.push_back(operation);
  add_stream(plan, stream);
}

void add_message(const CommunicatorRef& communicator, const MessageOperation& operation,
                 CUstream stream) {
  Plan& plan = plan_of(communicator);
  plan.content.messages.push_back(operation);
  add_stream(plan, stream);
}

void* group_api_event(const CommunicatorRef& communicator) {
  return plan_of(communicator).api_event;
}

ncclResult_t close_group() {
  if (depth == 0) {
    return reject(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
  }
  if (--depth > 0 || current == nullptr) {
    return ncclSuccess;
  }
  std::unique_ptr<Group> work = take_group();
  if (work->error != ncclSuccess) {
    for (const Plan& plan : work->plans) {
      stop_events(plan, plan.content);
    }
    settle(communicators_of(*work), work->error);
    return work->error;
  }
  const std::vector<CommunicatorRef> communicators = communicators_of(*work);
  const auto blocking = static_cast<size_t>(
      std::count_if(communicators.begin(), communicators.end(),
                    [](const CommunicatorRef& c) { return c->config.blocking; }));
  if (blocking != 0 && blocking != communicators.size()) {
    return reject(ncclInvalidArgument,
                  "Blocking and nonblocking communicators are not allowed in the same group.");
  }
  if (blocking == 0 && !communicators.empty()) {
    return run_in_background(std::move(work));
  }
  return run_group(*work);
}

ncclResult_t close_group_simulated(double* time_us) {
  if (depth == 0) {
    return reject(ncclInvalidUsage, "ncclGroupSimulateEnd: not in a group call.");
  }
  *time_us = 0;
  if (--depth > 0 || current == nullptr) {
    return ncclSuccess;
  }
  const std::unique_ptr<Group> work = take_group();
  BRAID_NCCL_TRY(work->error);
  for (Plan& plan : work->plans) {
    double own_us = 0;
    BRAID_NCCL_TRY(select(*plan.communicator, &plan.content.collectives, &own_us));
    *time_us = std::max(*time_us, own_us);
    stop_events(plan, plan.content);
  }
  return ncclSuccess;
}

ncclResult_t submit_job(CommunicatorJob job) {
  const bool blocking = std::all_of(job.communicators.begin(), job.communicators.end(),
                                    [](const CommunicatorRef& c) { return c->config.blocking; });
  if (depth == 0 && blocking) {
    return run_job(job);
  }
  if (!blocking) {
    for (const CommunicatorRef& communicator : job.communicators) {
      ncclResult_t success = ncclSuccess;
      communicator->async_result.compare_exchange_strong(success, ncclInProgress);
    }
  }
  if (depth > 0) {
    add_job(std::move(job));
    return blocking ? ncclSuccess : ncclInProgress;
  }
  auto work = std::make_unique<Group>();
  work->jobs.push_back(std::move(job));
  return run_in_background(std::move(work));
}

}  // namespace braid::vgpu::nccl
