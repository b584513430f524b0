// Whether braid is at work in this process and this thread, and how to step aside.
#pragma once

#include <atomic>
#include <cstdint>

namespace braid::interposer {

/// False before the first use, under BRAID_MODE=off, in a fork child, in a secure-execution process
/// and once the process is ending: every hook then only forwards.
bool is_active();

/// Runs the lazy start once: reads the environment, installs the fork and exit handlers. Called by
/// the hooks, never by a constructor.
void start_once();

/// Per-thread state: plain data, no destructor, because hooks run during thread and process exit.
struct ThreadState {
  int inside_real_call = 0;  // depth of calls into NCCL, cuBLAS or CUDA made by a hook or by braid
  int group_depth = 0;       // ncclGroupStart calls of the program that are still open
  uint32_t number = 0;       // small number of this thread; 0: not given yet
};
ThreadState& thread_state();
uint32_t thread_number();

/// While one lives, hooks and callbacks of this thread only forward.
class RealCallGuard {
 public:
  RealCallGuard() { ++thread_state().inside_real_call; }
  ~RealCallGuard() { --thread_state().inside_real_call; }
  RealCallGuard(const RealCallGuard&) = delete;
  RealCallGuard& operator=(const RealCallGuard&) = delete;
};

/// True when a hook should do more than forward.
inline bool should_intercept() { return thread_state().inside_real_call == 0 && is_active(); }

}  // namespace braid::interposer
