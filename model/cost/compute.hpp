// How long a kernel runs on a given number of SMs: waves of blocks, with memory as a floor.
#pragma once

#include <algorithm>
#include <cstdint>

namespace braid::model {

/// A kernel's cost. Times in µs. Blocks run in waves of one slot an SM (`blocks` counts slots:
/// where several blocks fit on an SM, together they are one).
struct ComputeCost {
  uint64_t blocks = 1;
  double wave_us = 0;    // one full wave
  double memory_us = 0;  // its memory traffic at full bandwidth
  double fixed_us = 0;   // start gap and what does not shrink with SMs
  int memory_sms = 1;    // SMs that together saturate the memory; fewer stretch memory_us
  int sm_limit = 0;      // most SMs it may take; 0: all

  /// SMs it can use out of `available`.
  int useful_sms(int available) const {
    const int limit = sm_limit > 0 ? std::min(sm_limit, available) : available;
    return static_cast<int>(std::min<uint64_t>(blocks, static_cast<uint64_t>(std::max(0, limit))));
  }
  /// Waves on `sms` SMs (at least one).
  uint64_t waves(int sms) const {
    const auto slots = static_cast<uint64_t>(std::max(1, sms));
    return std::max<uint64_t>(1, (blocks + slots - 1) / slots);
  }
  /// Run time on `sms` SMs, fixed part included.
  double time_us(int sms) const {
    const double scarce = std::max(1.0, static_cast<double>(memory_sms) / std::max(1, sms));
    return fixed_us + std::max(static_cast<double>(waves(sms)) * wave_us, memory_us * scarce);
  }
};

}  // namespace braid::model
