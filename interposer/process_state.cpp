#include "interposer/process_state.hpp"

#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "config/diagnostics.hpp"
#include "config/environment.hpp"
#include "interposer/agreement/coordinator.hpp"
#include "interposer/descriptors.hpp"
#include "interposer/final_plan.hpp"
#include "interposer/metrics.hpp"
#include "interposer/recorder.hpp"
#include "interposer/summary.hpp"

namespace braid::interposer {
namespace {

enum class Phase : int { kNotStarted, kActive, kPassThrough };
std::atomic<Phase> g_phase{Phase::kNotStarted};
std::once_flag g_start;
std::atomic<uint32_t> g_threads{0};
thread_local ThreadState t_state;

// A fork child shares our files and sockets but none of our threads: it must not touch them.
void become_pass_through_in_child() {
  g_phase.store(Phase::kPassThrough);
  close_descriptors_in_child();
}

void finish_process() {
  if (g_phase.exchange(Phase::kPassThrough) != Phase::kActive) {
    return;
  }
  Coordinator::instance().close();
  write_final_plan();
  write_metrics();
  print_summary();
  Recorder::instance().close();
}

void start() {
  // Secure-execution mode: the environment belongs to somebody with fewer rights than the process.
  if (getauxval(AT_SECURE) != 0 || config::environment().mode == config::Mode::kOff) {
    g_phase.store(Phase::kPassThrough);
    return;
  }
  if (const auto& error = config::environment_error()) {
    BRAID_WARN(Init, "environment", "%s; the default is used", error->text().c_str());
  }
  for (const std::string& name : config::unknown_variables(environ)) {
    BRAID_WARN(Init, "environment", "unknown variable %s", name.c_str());
  }
  if (config::environment().verify_every > 0) {
    BRAID_WARN(Init, "environment",
               "BRAID_VERIFY is read, but calls are not verified by this version");
  }
  pthread_atfork(nullptr, nullptr, become_pass_through_in_child);
  std::atexit(finish_process);
  g_phase.store(Phase::kActive);
}

}  // namespace

void start_once() { std::call_once(g_start, start); }

bool is_active() {
  const Phase phase = g_phase.load(std::memory_order_acquire);
  if (phase == Phase::kNotStarted) {
    start_once();
    return g_phase.load(std::memory_order_acquire) == Phase::kActive;
  }
  return phase == Phase::kActive;
}

ThreadState& thread_state() { return t_state; }

uint32_t thread_number() {
  if (t_state.number == 0) {
    t_state.number = g_threads.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return t_state.number;
}

}  // namespace braid::interposer
