#include "interposer/refusal.hpp"

namespace braid::interposer {
namespace {

struct Row {
  const char* name;
  const char* explanation;
};

// One row a reason, in the order of the enumeration.
constexpr Row kRows[] = {
    {"not_agreed", "a rank runs without braid, or the ranks' settings differ"},
    {"side_channel", "the ranks have no side channel to agree over"},
    {"grouped_init",
     "the communicator was created in a group, by ncclCommInitAll or from several ids"},
    {"nonblocking", "the communicator is nonblocking"},
    {"child_communicator", "the communicator was split or shrunk from another"},
    {"one_hardware_queue", "CUDA_DEVICE_MAX_CONNECTIONS=1 defeats an early start"},
    {"no_rule", "no rule of the policy matches"},
    {"not_carried_out",
     "the rule asks for a strategy, scheme or collective this version does not rewrite"},
    {"numerics", "the numerics class does not allow another order of sums"},
    {"user_reduction", "the reduction was made by the program"},
    {"no_pair", "no GEMM that feeds the collective has been learned"},
    {"no_gain", "the model predicts no gain from splitting"},
    {"no_model", "parts = \"auto\" needs a topology and a GPU model"},
    {"capture", "a CUDA graph is being captured"},
    {"coverage", "work could have been enqueued unseen"},
    {"gemm_not_split", "the GEMM before the collective ran whole"},
    {"intervening_work", "something was enqueued between the GEMM and the collective"},
    {"memory_overlap", "the collective would write what the GEMM still reads"},
    {"other_buffer", "the collective does not read exactly the GEMM's output"},
    {"several_communicators", "collectives of several communicators share a group"},
    {"several_streams", "the collectives of a group run on several streams"},
    {"resources", "no event or stream could be made"},
};
static_assert(std::size(kRows) == static_cast<size_t>(Refusal::kCount));

}  // namespace

const char* name_of(Refusal reason) { return kRows[static_cast<size_t>(reason)].name; }

const char* explain(Refusal reason) { return kRows[static_cast<size_t>(reason)].explanation; }

std::vector<std::pair<Refusal, uint64_t>> RefusalCounter::snapshot() const {
  std::vector<std::pair<Refusal, uint64_t>> result;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (const uint64_t count = counts_[i].load(std::memory_order_relaxed); count > 0) {
      result.emplace_back(static_cast<Refusal>(i), count);
    }
  }
  return result;
}

RefusalCounter& refusals() {
  static auto* counter = new RefusalCounter();  // never destroyed: hooks run until the very end
  return *counter;
}

}  // namespace braid::interposer
