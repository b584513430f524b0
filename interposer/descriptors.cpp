#include "interposer/descriptors.hpp"

#include <unistd.h>

#include <atomic>

namespace braid::interposer {
namespace {

// A job has one connection a communicator, and its coordinator one a rank and communicator. Beyond
// the table's size a child keeps what does not fit.
constexpr int kSlots = 4096;
std::atomic<int> g_slots[kSlots];  // descriptor + 1; 0: free

}  // namespace

void note_descriptor(int descriptor) {
  for (auto& slot : g_slots) {
    int free = 0;
    if (slot.compare_exchange_strong(free, descriptor + 1, std::memory_order_relaxed)) {
      return;
    }
  }
}

void forget_descriptor(int descriptor) {
  for (auto& slot : g_slots) {
    int noted = descriptor + 1;
    if (slot.compare_exchange_strong(noted, 0, std::memory_order_relaxed)) {
      return;
    }
  }
}

void close_descriptors_in_child() {
  for (auto& slot : g_slots) {
    if (const int noted = slot.exchange(0, std::memory_order_relaxed); noted != 0) {
      ::close(noted - 1);
    }
  }
}

}  // namespace braid::interposer
