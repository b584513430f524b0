// Which of the things that may happen next does happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace braid::vgpu {

/// Something the device could do now: start the head of a queue, or continue what runs.
struct Candidate {
  int priority = 0;       // lower is more urgent
  uint64_t sequence = 0;  // order of issue
  bool running = false;
  int hold = -1;  // picks it is passed over for; -1: not drawn yet (seeded picking only)
};

/// Seed 0 is fair: the most urgent, then the oldest start first, and running work takes turns. Any
/// other seed picks adversarially: at random among all, ignoring priority (which promises nothing),
/// and holds work back at random so that whatever is not ordered by the program comes in any order.
class Picker {
 public:
  Picker(uint64_t seed, int device);

  /// Index into `candidates`, or -1: let time pass (only under a seed).
  int pick(const std::vector<Candidate*>& candidates);

  bool is_adversarial() const { return adversarial_; }

 private:
  uint64_t next();

  bool adversarial_;
  uint64_t state_;
  uint64_t turn_ = 0;
};

}  // namespace braid::vgpu
