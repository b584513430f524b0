// Undefined memory made visibly wrong.
#include <cstring>

#include "config/environment.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu {

void poison(void* address, size_t bytes) {
  if (config::environment().vgpu_seed != 0 && compute_enabled()) {
    std::memset(address, 0xff, bytes);  // not a number in every floating-point type
  }
}

}  // namespace braid::vgpu
