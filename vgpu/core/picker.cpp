#include "vgpu/core/picker.hpp"

namespace braid::vgpu {

Picker::Picker(uint64_t seed, int device)
    : adversarial_(seed != 0),
      state_(seed * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(device)) {}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
uint64_t Picker::next() {
  state_ += 0x9e3779b97f4a7c15ull;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

int Picker::pick(const std::vector<Candidate*>& candidates) {
  if (candidates.empty()) {
    return -1;
  }
  if (!adversarial_) {
    int start = -1;
    std::vector<int> running;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& c = *candidates[i];
      if (c.running) {
        running.push_back(static_cast<int>(i));
      } else if (start < 0 || c.priority < candidates[start]->priority ||
                 (c.priority == candidates[start]->priority &&
                  c.sequence < candidates[start]->sequence)) {
        start = static_cast<int>(i);
      }
    }
    // Every second turn continues something, so that a stream of new work cannot starve it.
    ++turn_;
    if (start >= 0 && (running.empty() || turn_ % 2 == 0)) {
      return start;
    }
    return running[(turn_ / 2) % running.size()];
  }
  std::vector<int> open;
  for (size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = *candidates[i];
    if (c.hold < 0) {
      const uint64_t draw = next();
      // Most start at once, some are passed over for a few picks, a few for long.
      const int kind = static_cast<int>(draw % 16);
      c.hold = kind < 9 ? 0 : kind < 15 ? static_cast<int>((draw >> 8) % 8) + 1 : 40;
    }
    if (c.hold > 0) {
      --c.hold;
    } else {
      open.push_back(static_cast<int>(i));
    }
  }
  return open.empty() ? -1 : open[next() % open.size()];
}

}  // namespace braid::vgpu
