#include "vgpu/core/completion.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace braid::vgpu {
namespace {

// Waiting is rare next to completing, so completions share a few condition variables.
struct WaitingRoom {
  std::mutex mutex;
  std::condition_variable changed;
};

WaitingRoom& room_of(const Completion* completion) {
  static std::array<WaitingRoom, 64>& rooms = *new std::array<WaitingRoom, 64>;
  return rooms[(reinterpret_cast<uintptr_t>(completion) / 64) % rooms.size()];
}

}  // namespace

void Completion::wait() {
  if (is_done()) {
    return;
  }
  WaitingRoom& room = room_of(this);
  waiters_.fetch_add(1);
  {
    std::unique_lock lock(room.mutex);
    room.changed.wait(lock, [&] { return done_.load(); });
  }
  waiters_.fetch_sub(1);
}

void Completion::set() {
  time_ns_ = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                       std::chrono::steady_clock::now().time_since_epoch())
                                       .count());
  done_.store(true);
  if (waiters_.load() > 0) {
    WaitingRoom& room = room_of(this);
    { const std::lock_guard lock(room.mutex); }
    room.changed.notify_all();
  }
}

bool is_done(const WorkHandle& handle) { return handle == nullptr || handle->is_done(); }

}  // namespace braid::vgpu
