#include "vgpu/core/executor.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "config/environment.hpp"
#include "vgpu/core/box.hpp"

namespace braid::vgpu {
namespace {

constexpr uint64_t kFirstPauseNs = 10'000;
constexpr uint64_t kLongestPauseNs = 1'000'000;
constexpr int kPollsWithoutPause = 8;

std::array<std::atomic<Executor*>, 64>& executors() {
  static std::array<std::atomic<Executor*>, 64>& all = *new std::array<std::atomic<Executor*>, 64>;
  return all;
}

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

size_t hardware_queues() {
  const int wanted = config::environment().vgpu_queues;
  if (wanted > 0) {
    return static_cast<size_t>(wanted);
  }
  const char* text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int connections = text != nullptr ? std::atoi(text) : 0;
  return connections >= 1 && connections <= 32 ? static_cast<size_t>(connections) : 8;
}

// Doubles from ten microseconds to a millisecond: quick while something is about to happen, cheap
// while a peer is late.
uint64_t pause_after(int polls) {
  if (polls < kPollsWithoutPause) {
    return 0;
  }
  const int doublings = std::min((polls - kPollsWithoutPause) / 4, 7);
  return std::min(kFirstPauseNs << doublings, kLongestPauseNs);
}

}  // namespace

Executor& Executor::of(int device) {
  static std::mutex& mutex = *new std::mutex;
  std::atomic<Executor*>& entry = executors()[static_cast<size_t>(device)];
  Executor* executor = entry.load(std::memory_order_acquire);
  if (executor == nullptr) {
    const std::lock_guard lock(mutex);
    executor = entry.load(std::memory_order_acquire);
    if (executor == nullptr) {
      executor = new Executor(device);
      entry.store(executor, std::memory_order_release);
    }
  }
  return *executor;
}

Executor::Executor(int device)
    : device_(device),
      total_shares_(devices()[static_cast<size_t>(device)].sm_count),
      queues_(hardware_queues()),
      free_shares_(total_shares_),
      picker_(config::environment().vgpu_seed, device) {
  if (picker_.is_adversarial()) {
    report_once("adversarial scheduling, BRAID_VGPU_SEED=" +
                std::to_string(config::environment().vgpu_seed));
  }
}

void Executor::append(int queue, std::unique_ptr<Operation> operation) {
  operation->work.shares = std::clamp(operation->work.shares, 0, total_shares_);
  operation->candidate.priority = operation->priority;
  const std::lock_guard lock(mutex_);
  operation->candidate.sequence = next_sequence_++;
  queues_[static_cast<size_t>(queue)].push_back(std::move(operation));
  ++wake_count_;
  if (!started_) {
    started_ = true;
    // Signals belong to the program's own threads.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    std::thread([this] { run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  }
  changed_.notify_one();
}

void Executor::wake() {
  const std::lock_guard lock(mutex_);
  ++wake_count_;
  poll_at_once_ = true;
  changed_.notify_one();
}

void Executor::wake_all(const Executor* except) {
  for (std::atomic<Executor*>& entry : executors()) {
    Executor* executor = entry.load(std::memory_order_acquire);
    if (executor != nullptr && executor != except && executor->waits_outside_.load()) {
      executor->wake();
    }
  }
}

void Executor::set_error(CUresult error) {
  int expected = CUDA_SUCCESS;
  error_.compare_exchange_strong(expected, error);
  wake();
}

bool Executor::is_ready(Operation& operation) {
  if (error() != CUDA_SUCCESS) {
    return true;
  }
  std::vector<WorkHandle>& after = operation.work.after;
  while (!after.empty() && is_done(after.back())) {
    after.pop_back();
  }
  if (!std::all_of(after.begin(), after.end(), [](const WorkHandle& h) { return is_done(h); })) {
    return false;
  }
  if (operation.work.shares > free_shares_) {
    return false;
  }
  return !operation.gate || operation.gate();
}

void Executor::start(size_t queue) {
  std::unique_ptr<Operation> operation = std::move(queues_[queue].front());
  queues_[queue].pop_front();
  free_shares_ -= operation->work.shares;
  operation->candidate.running = true;
  operation->candidate.hold = 0;
  operation->work.after.clear();
  running_.push_back(std::move(operation));
}

void Executor::finish(size_t index, std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<Operation> operation = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<ptrdiff_t>(index));
  free_shares_ += operation->work.shares;
  lock.unlock();
  operation->work.step = nullptr;  // what it captured goes before anyone learns that it is done
  operation->done->set();
  operation.reset();
  wake_all(this);
  lock.lock();
}

// One thing that may happen, happens.
Executor::Round Executor::run_once(std::unique_lock<std::mutex>& lock) {
  std::vector<Candidate*> candidates;
  std::vector<size_t> places;  // queue of a head, or index into running_
  const uint64_t now = now_ns();
  for (size_t queue = 0; queue < queues_.size(); ++queue) {
    if (!queues_[queue].empty() && is_ready(*queues_[queue].front())) {
      candidates.push_back(&queues_[queue].front()->candidate);
      places.push_back(queue);
    }
  }
  for (size_t i = 0; i < running_.size(); ++i) {
    if (running_[i]->next_poll_ns <= now) {
      candidates.push_back(&running_[i]->candidate);
      places.push_back(i);
    }
  }
  const int chosen = picker_.pick(candidates);
  if (chosen < 0) {
    return candidates.empty() ? Round::kNothing : Round::kHeldBack;
  }
  size_t index = places[static_cast<size_t>(chosen)];
  if (!candidates[static_cast<size_t>(chosen)]->running) {
    start(index);
    index = running_.size() - 1;
  }
  Operation& operation = *running_[index];
  Step step = Step::kDone;
  if (operation.work.step && error() == CUDA_SUCCESS) {
    lock.unlock();
    try {
      step = operation.work.step();
    } catch (const std::exception& exception) {
      report_once("device " + std::to_string(device_) + ": " + operation.work.name +
                  " threw: " + exception.what());
      set_error(CUDA_ERROR_LAUNCH_FAILED);
    }
    lock.lock();
  }
  if (step == Step::kDone || error() != CUDA_SUCCESS) {
    finish(index, lock);
  } else {
    operation.next_poll_ns = now_ns() + pause_after(operation.polls++);
  }
  return Round::kRan;
}

// Until the next poll of something that runs, but not longer than the blocked heads may wait.
uint64_t Executor::idle_pause_ns(uint64_t now) const {
  uint64_t pause = kLongestPauseNs;
  for (const auto& operation : running_) {
    pause = std::min(pause, operation->next_poll_ns > now ? operation->next_poll_ns - now : 0);
  }
  return std::min(pause, std::max(kFirstPauseNs, pause_after(idle_rounds_ + kPollsWithoutPause)));
}

void Executor::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t seen = wake_count_;
    // Before looking: whoever completes something from here on wakes us.
    waits_outside_.store(true);
    if (poll_at_once_) {
      poll_at_once_ = false;
      for (const auto& operation : running_) {
        operation->next_poll_ns = 0;
      }
    }
    const Round round = run_once(lock);
    if (round == Round::kRan) {
      idle_rounds_ = 0;
      continue;
    }
    if (round == Round::kHeldBack) {
      changed_.wait_for(lock, std::chrono::nanoseconds(kFirstPauseNs));
      continue;
    }
    const bool idle = running_.empty() && std::all_of(queues_.begin(), queues_.end(),
                                                      [](const auto& q) { return q.empty(); });
    if (idle) {
      waits_outside_.store(false);
      changed_.wait(lock, [&] { return wake_count_ != seen; });
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(idle_pause_ns(now_ns())),
                        [&] { return wake_count_ != seen; });
      ++idle_rounds_;
    }
  }
}

CUresult device_error(int device) {
  if (is_fork_child()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (device < 0 || static_cast<size_t>(device) >= devices().size()) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  return Executor::of(device).error();
}

void set_device_error(int device, CUresult error) {
  if (!is_fork_child() && device >= 0 && static_cast<size_t>(device) < devices().size()) {
    Executor::of(device).set_error(error);
  }
}

}  // namespace braid::vgpu
