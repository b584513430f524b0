#include "vgpu/cupti/driver_names.hpp"

#include <cupti.h>

namespace braid::vgpu {
namespace {

struct Row {
  uint32_t id;
  const char* name;
};

constexpr Row kRows[] = {
#define CBID(name) {CUPTI_DRIVER_TRACE_CBID_##name, #name},
#include "vgpu/cupti/callback_ids.inc"
#undef CBID
};

}  // namespace

const char* driver_function_name(uint32_t callback_id) {
  for (const Row& row : kRows) {
    if (row.id == callback_id) {
      return row.name;
    }
  }
  return nullptr;
}

}  // namespace braid::vgpu
