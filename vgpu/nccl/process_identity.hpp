// Which process takes part, and whether it still lives.
#pragma once

#include <cstdint>

namespace braid::vgpu::nccl {

/// A process of this machine, told apart from a later one with the same number by its start time.
struct ProcessIdentity {
  int32_t pid = 0;
  uint64_t start_ticks = 0;  // since boot, as /proc/<pid>/stat has it

  bool operator==(const ProcessIdentity&) const = default;
};

/// The calling process (also right in the child of a fork).
ProcessIdentity this_process();

/// When the process of this number started; 0 when there is none, or only a zombie.
uint64_t find_start_ticks(int32_t pid);

/// False once the process ended, a zombie included, or its number belongs to another one.
bool is_alive(const ProcessIdentity& process);

}  // namespace braid::vgpu::nccl
