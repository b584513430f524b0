#include "vgpu/core/host_function.hpp"

#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "vgpu/core/context_table.hpp"
#include "vgpu/core/executor.hpp"

namespace braid::vgpu {
namespace {

class HostThread {
 public:
  static HostThread& instance() {
    static HostThread& thread = *new HostThread;
    return thread;
  }

  void post(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (!started_) {
      started_ = true;
      sigset_t all, previous;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &previous);
      std::thread([this] { run(); }).detach();
      pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool started_ = false;
};

struct HostCall {
  std::function<void(CUresult)> function;
  bool posted = false;  // executor thread only
  std::atomic<bool> returned{false};
};

}  // namespace

CUresult enqueue_host_function(const StreamRef& stream, std::function<void(CUresult)> function) {
  auto call = std::make_shared<HostCall>();
  call->function = std::move(function);
  Executor& executor = Executor::of(stream->device);
  Work work;
  work.name = "host function";
  work.step = [call, &executor] {
    if (!call->posted) {
      call->posted = true;
      HostThread::instance().post([call, &executor] {
        {
          const HostFunctionScope scope;
          call->function(executor.error());
        }
        call->returned.store(true, std::memory_order_release);
        executor.wake();
      });
    }
    return call->returned.load(std::memory_order_acquire) ? Step::kDone : Step::kPending;
  };
  return enqueue_operation(stream, std::move(work), {}, nullptr);
}

}  // namespace braid::vgpu
