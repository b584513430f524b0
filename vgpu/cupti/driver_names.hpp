// Names of driver functions by CUPTI's callback id.
#pragma once

#include <cstdint>

namespace braid::vgpu {

/// nullptr when no function has the id.
const char* driver_function_name(uint32_t callback_id);

}  // namespace braid::vgpu
