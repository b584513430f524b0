#include "model/simulator/compute.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace braid::model {
namespace {

constexpr double kDone = 1e-9;    // of a kernel: rounding
constexpr double kOnWave = 1e-6;  // of a wave: counts as its boundary

}  // namespace

SmPool::SmPool(int sms, double compute_factor, double contention_factor)
    : sms_(std::max(1, sms)),
      compute_factor_(compute_factor),
      contention_factor_(contention_factor) {}

void SmPool::insert(Entry entry) {
  entry.arrival = arrivals_++;
  const auto place = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.priority > entry.priority;
  });
  entries_.insert(place, entry);
  allocate();
}

void SmPool::add_kernel(double now_us, TaskId task, const ComputeCost& cost, int priority) {
  advance(now_us);
  Entry entry;
  entry.task = task;
  entry.priority = priority;
  entry.cost = cost;
  insert(entry);
}

void SmPool::add_collective(double now_us, TaskId task, int channels, int priority) {
  advance(now_us);
  Entry entry;
  entry.task = task;
  entry.priority = priority;
  entry.collective = true;
  entry.channels = std::clamp(channels, 1, sms_);
  insert(entry);
}

void SmPool::release_collective(double now_us, TaskId task) {
  advance(now_us);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.task == task; });
  allocate();
}

void SmPool::advance(double now_us) {
  const double elapsed = now_us - now_us_;
  if (elapsed > 0) {
    for (Entry& entry : entries_) {
      entry.remaining -= entry.rate * elapsed;
    }
    now_us_ = now_us;
  }
}

PoolChanges SmPool::update(double now_us) {
  advance(now_us);
  for (const Entry& entry : entries_) {
    if (!entry.collective && entry.remaining <= kDone) {
      changes_.finished.push_back(entry.task);
    }
  }
  std::erase_if(entries_,
                [](const Entry& entry) { return !entry.collective && entry.remaining <= kDone; });
  allocate();
  return std::exchange(changes_, {});
}

/// SMs a running kernel would leave to a waiting collective right now.
int SmPool::reclaimable(const Entry& kernel, const Entry& collective) const {
  const auto waves = static_cast<double>(kernel.cost.waves(kernel.sms));
  const double progress = (1 - kernel.remaining) * waves;
  if (kernel.priority > collective.priority &&
      std::abs(progress - std::round(progress)) <= kOnWave) {
    return kernel.sms;
  }
  if (progress >= waves - 1 - kOnWave) {  // all blocks are placed: the rest of its SMs idles
    const uint64_t full = static_cast<uint64_t>(waves - 1) * static_cast<uint64_t>(kernel.sms);
    const uint64_t tail = kernel.cost.blocks - std::min(kernel.cost.blocks, full);
    return kernel.sms -
           static_cast<int>(std::min<uint64_t>(tail, static_cast<uint64_t>(kernel.sms)));
  }
  return 0;
}

/// When `reclaimable` may next give more for this kernel.
double SmPool::boundary_us(const Entry& kernel, const Entry& collective) const {
  if (kernel.rate <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  const auto waves = static_cast<double>(kernel.cost.waves(kernel.sms));
  const double progress = (1 - kernel.remaining) * waves;
  const double next = kernel.priority > collective.priority
                          ? std::floor(progress + kOnWave) + 1
                          : (progress < waves - 1 - kOnWave ? waves - 1 : waves);
  return now_us_ + std::max(0.0, next - progress) / (waves * kernel.rate);
}

bool SmPool::grant_waiting() {
  int free = sms_;
  for (const Entry& entry : entries_) {
    free -= entry.collective ? (entry.holds ? entry.channels : 0) : entry.sms;
  }
  for (Entry& entry : entries_) {
    if (!entry.collective || entry.holds) {
      continue;
    }
    int room = free;
    for (const Entry& kernel : entries_) {
      if (!kernel.collective && kernel.sms > 0) {
        room += reclaimable(kernel, entry);
      }
    }
    if (room >= entry.channels) {
      entry.holds = true;
      changes_.granted.push_back(entry.task);
      return true;
    }
  }
  return false;
}

void SmPool::allocate() {
  do {
    int free = sms_;
    bool held = false;
    for (const Entry& entry : entries_) {
      if (entry.collective && entry.holds) {
        free -= entry.channels;
        held = true;
      }
    }
    // Kernels that run keep their place; one that has not started waits behind a collective that
    // came before it and is not yet placed.
    bool collective_waits = false;
    for (Entry& entry : entries_) {
      if (entry.collective) {
        collective_waits = collective_waits || !entry.holds;
        continue;
      }
      const bool may_run = entry.started || !collective_waits;
      entry.sms = may_run ? entry.cost.useful_sms(std::max(0, free)) : 0;
      free -= entry.sms;
      if (entry.sms > 0) {
        if (!entry.started) {
          entry.started = true;
          changes_.started.push_back(entry.task);
        }
        entry.rate = 1.0 / std::max(1e-6, entry.cost.time_us(entry.sms) * compute_factor_ *
                                              (held ? contention_factor_ : 1.0));
      } else {
        entry.rate = 0;
      }
    }
  } while (grant_waiting());
}

double SmPool::next_us() const {
  double next = std::numeric_limits<double>::infinity();
  if (!changes_.granted.empty() || !changes_.started.empty() || !changes_.finished.empty()) {
    return now_us_;
  }
  for (const Entry& entry : entries_) {
    if (entry.collective) {
      if (!entry.holds) {
        for (const Entry& kernel : entries_) {
          if (!kernel.collective && kernel.sms > 0) {
            next = std::min(next, boundary_us(kernel, entry));
          }
        }
      }
    } else if (entry.rate > 0) {
      next = std::min(next, now_us_ + std::max(0.0, entry.remaining) / entry.rate);
    }
  }
  return next;
}

}  // namespace braid::model
