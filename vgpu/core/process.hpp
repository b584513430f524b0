// Which process this is, whether another one still lives, and what a fork leaves behind.
#pragma once

#include <cstdint>

namespace braid::vgpu {

/// A process, safe against reuse of its number.
struct ProcessIdentity {
  int32_t pid = 0;
  uint64_t start_time = 0;  // clock ticks after boot, field 22 of /proc/PID/stat
};

/// This process. Read once; a fork child has its own.
ProcessIdentity this_process();

/// Does it still run? A zombie does not.
bool is_alive(const ProcessIdentity& process);

/// Remembers that this process uses the virtual box, so that a child made by fork is told apart.
void mark_process_in_use();

/// True in a child that was forked from a process which used the virtual box: its threads and locks
/// did not come along, so every call must answer with an error before it takes a lock.
bool is_fork_child();

}  // namespace braid::vgpu
