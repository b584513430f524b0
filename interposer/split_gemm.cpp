#include "interposer/split_gemm.hpp"

#include <map>
#include <mutex>

#include "interposer/driver_api.hpp"
#include "interposer/process_state.hpp"

namespace braid::interposer {
namespace {

struct Pools {
  std::mutex mutex;
  std::map<int, std::vector<CUevent>> free;
};

Pools& pools() {
  static auto* instance = new Pools();  // never destroyed: events may come back at exit
  return *instance;
}

}  // namespace

CUevent EventPool::acquire(int device, CUstream stream) {
  {
    Pools& all = pools();
    std::lock_guard<std::mutex> lock(all.mutex);
    std::vector<CUevent>& free = all.free[device];
    if (!free.empty()) {
      CUevent event = free.back();
      free.pop_back();
      return event;
    }
  }
  const DriverApi* driver = driver_api();
  CUevent event = nullptr;
  const StreamContext context(stream);
  RealCallGuard guard;
  if (driver == nullptr || !context.is_current() ||
      driver->event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return nullptr;
  }
  return event;
}

void EventPool::release(int device, CUevent event) {
  if (event == nullptr) {
    return;
  }
  Pools& all = pools();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.free[device].push_back(event);
}

}  // namespace braid::interposer
