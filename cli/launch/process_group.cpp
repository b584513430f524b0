#include "cli/launch/process_group.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/launch/output_relay.hpp"

namespace braid::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// Blocks the signals we handle while the job runs and gives them to a descriptor.
class SignalSource {
 public:
  SignalSource() {
    sigset_t handled;
    sigemptyset(&handled);
    sigaddset(&handled, SIGCHLD);
    for (const int signal : kForwarded) {
      sigaddset(&handled, signal);
    }
    sigprocmask(SIG_BLOCK, &handled, &before_);
    descriptor_ = signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~SignalSource() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

  int descriptor() const { return descriptor_; }
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::string describe_end(int process, size_t count, int wait_status) {
  const std::string who = count == 1 ? "the job" : fmt::format("rank {}", process);
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("{} was killed by signal {} ({})", who, signal, strsignal(signal));
  }
  return fmt::format("{} ended with exit status {}", who, WEXITSTATUS(wait_status));
}

class Group {
 public:
  Group(const std::vector<ProcessPlan>& plans, const ProcessGroupOptions& options)
      : plans_(plans), options_(options), own_groups_(plans.size() > 1) {}

  ~Group() {
    if (log_ >= 0) {
      close(log_);
    }
  }

  Result<JobEnd> run() {
    if (signals_.descriptor() < 0) {
      return fail("signalfd", std::strerror(errno));
    }
    if (!options_.log_file.empty()) {
      log_ = open(options_.log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
                  0644);
      if (log_ < 0) {
        return fail(options_.log_file, fmt::format("cannot write: {}", std::strerror(errno)));
      }
    }
    for (size_t i = 0; i < plans_.size(); ++i) {
      if (Status started = start(i); !started) {
        signal_all(SIGKILL);
        while (living_ > 0) {
          reap(0);
        }
        return tl::unexpected(started.error());
      }
    }
    while (living_ > 0) {
      wait_for_something();
      handle_signals();
      reap(WNOHANG);
      pump();
      enforce_deadlines();
    }
    pump();
    return end_;
  }

 private:
  /// Where a process's output goes: pipes to relays when tagged, the log, or braid's own.
  struct Redirection {
    int out = -1, err = -1;     // descriptors to become 1 and 2; -1: inherited
    std::vector<int> to_close;  // in the parent, after the fork
  };

  std::optional<int> make_relay(const std::string& tag, int target) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return std::nullopt;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    relays_.emplace_back(ends[0], target, tag);
    return ends[1];
  }

  Result<Redirection> redirect(const ProcessPlan& plan) {
    Redirection r;
    const int out = log_ >= 0 ? log_ : options_.stdout_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
    const int err = log_ >= 0 ? log_ : STDERR_FILENO;
    if (plan.tag.empty()) {
      r.out = out == STDOUT_FILENO ? -1 : out;
      r.err = err == STDERR_FILENO ? -1 : err;
      return r;
    }
    const auto out_pipe = make_relay(plan.tag, out);
    const auto err_pipe = out_pipe ? make_relay(plan.tag, err) : std::nullopt;
    if (!err_pipe) {
      return fail("pipe", std::strerror(errno));
    }
    r.out = *out_pipe;
    r.err = *err_pipe;
    r.to_close = {r.out, r.err};
    return r;
  }

  Status start(size_t index) {
    const ProcessPlan& plan = plans_[index];
    const auto redirection = redirect(plan);
    if (!redirection) {
      return tl::unexpected(redirection.error());
    }
    int report[2];  // tells the parent why exec failed
    if (pipe2(report, O_CLOEXEC) != 0) {
      return fail("pipe", std::strerror(errno));
    }
    const std::vector<char*> arguments = pointers_to(plan.arguments);
    const std::vector<char*> environment = pointers_to(plan.environment);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      run_child(*redirection, plan.program, arguments, environment, report[1], parent);
    }
    const int fork_error = errno;
    close(report[1]);
    for (const int descriptor : redirection->to_close) {
      close(descriptor);
    }
    if (pid < 0) {
      close(report[0]);
      return fail(plan.program, fmt::format("cannot be started: {}", std::strerror(fork_error)));
    }
    if (own_groups_) {
      setpgid(pid, pid);
    }
    pids_.push_back(pid);
    ++living_;
    int reason = 0;
    ssize_t got;
    do {
      got = read(report[0], &reason, sizeof reason);
    } while (got < 0 && errno == EINTR);
    close(report[0]);
    if (got == sizeof reason) {
      return fail(plan.program, fmt::format("cannot be started: {}", std::strerror(reason)));
    }
    return {};
  }

  [[noreturn]] void run_child(const Redirection& redirection, const std::string& program,
                              const std::vector<char*>& arguments,
                              const std::vector<char*>& environment, int report,
                              pid_t parent) const {
    if (own_groups_) {
      setpgid(0, 0);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // should braid itself be killed
    if (getppid() != parent) {
      _exit(127);
    }
    if (redirection.out >= 0) {
      dup2(redirection.out, STDOUT_FILENO);
    }
    if (redirection.err >= 0) {
      dup2(redirection.err, STDERR_FILENO);
    }
    sigprocmask(SIG_SETMASK, &signals_.mask_before(), nullptr);
    execve(program.c_str(), arguments.data(), environment.data());
    const int reason = errno;
    if (write(report, &reason, sizeof reason) < 0) {
      _exit(126);
    }
    _exit(127);
  }

  void wait_for_something() {
    std::vector<pollfd> waits{{signals_.descriptor(), POLLIN, 0}};
    for (const OutputRelay& relay : relays_) {
      if (relay.open()) {
        waits.push_back({relay.descriptor(), POLLIN, 0});
      }
    }
    const bool timed = options_.should_stop || deadline_;
    poll(waits.data(), waits.size(), timed ? 200 : -1);
  }

  void handle_signals() {
    signalfd_siginfo info{};
    while (read(signals_.descriptor(), &info, sizeof info) == sizeof info) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGCHLD) {
        continue;
      }
      end_.forwarded_signal = signal;
      // What the terminal sends reaches a process of our own group without us.
      if (own_groups_ || info.ssi_code != SI_KERNEL) {
        signal_all(signal);
      }
    }
  }

  void signal_all(int signal) {
    for (const pid_t pid : pids_) {
      if (pid > 0) {
        kill(own_groups_ ? -pid : pid, signal);
      }
    }
  }

  void reap(int flags) {
    for (size_t i = 0; i < pids_.size(); ++i) {
      int wait_status = 0;
      if (pids_[i] <= 0 || waitpid(pids_[i], &wait_status, flags) != pids_[i]) {
        continue;
      }
      if (own_groups_) {
        kill(-pids_[i], SIGTERM);  // what the rank started and left behind
      }
      pids_[i] = 0;
      --living_;
      const int status =
          WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
      if (status != 0 && end_.failed_process < 0 && !end_.stopped) {
        end_.status = status;
        end_.failed_process = static_cast<int>(i);
        end_.text = describe_end(static_cast<int>(i), plans_.size(), wait_status);
        start_deadline();
      }
    }
  }

  void start_deadline() {
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(options_.grace_seconds));
  }

  void enforce_deadlines() {
    if (options_.should_stop && !end_.stopped && living_ > 0 && options_.should_stop()) {
      end_.stopped = true;
      signal_all(SIGTERM);
      terminated_ = true;
      start_deadline();
    }
    if (!deadline_ || living_ == 0 || Clock::now() < *deadline_) {
      return;
    }
    signal_all(terminated_ ? SIGKILL : SIGTERM);
    terminated_ = true;
    start_deadline();
  }

  void pump() {
    for (OutputRelay& relay : relays_) {
      relay.pump();
    }
  }

  const std::vector<ProcessPlan>& plans_;
  const ProcessGroupOptions& options_;
  const bool own_groups_;
  SignalSource signals_;
  int log_ = -1;
  std::vector<OutputRelay> relays_;
  std::vector<pid_t> pids_;  // 0: ended
  int living_ = 0;
  bool terminated_ = false;
  std::optional<Clock::time_point> deadline_;
  JobEnd end_;
};

}  // namespace

Result<JobEnd> run_processes(const std::vector<ProcessPlan>& plans,
                             const ProcessGroupOptions& options) {
  return Group(plans, options).run();
}

}  // namespace braid::cli
