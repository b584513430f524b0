// Messages to the person who runs the program, each once.
#include <cstdio>
#include <mutex>
#include <set>

#include "vgpu/core/process.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

void report_once(const std::string& text) {
  if (is_fork_child()) {
    return;
  }
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& seen = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (seen.insert(text).second) {
    std::fprintf(stderr, "braid-vgpu: %s\n", text.c_str());
  }
}

}  // namespace braid::vgpu
