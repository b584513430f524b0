#include <condition_variable>
#include <cstring>
#include <mutex>

#include "common/rendezvous.hpp"

namespace examples {
namespace {

class ThreadRendezvous final : public Rendezvous {
 public:
  explicit ThreadRendezvous(int ranks) : ranks_(ranks), values_(static_cast<size_t>(ranks)) {}

  void broadcast(int rank, void* bytes, size_t count) override {
    if (rank == 0) {
      const std::lock_guard lock(mutex_);
      const auto* first = static_cast<const unsigned char*>(bytes);
      message_.assign(first, first + count);
    }
    wait_for_all();
    if (rank != 0) {
      std::memcpy(bytes, message_.data(), count);
    }
    wait_for_all();
  }

  std::vector<uint64_t> gather(int rank, uint64_t value) override {
    {
      const std::lock_guard lock(mutex_);
      values_[static_cast<size_t>(rank)] = value;
    }
    wait_for_all();
    std::vector<uint64_t> result;
    if (rank == 0) {
      result = values_;
    }
    wait_for_all();
    return result;
  }

 private:
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    const uint64_t round = round_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
      return;
    }
    all_here_.wait(lock, [&] { return round_ != round; });
  }

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int arrived_ = 0;
  uint64_t round_ = 0;
  std::vector<unsigned char> message_;
  std::vector<uint64_t> values_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_thread_rendezvous(int ranks) {
  return std::make_unique<ThreadRendezvous>(ranks);
}

}  // namespace examples
