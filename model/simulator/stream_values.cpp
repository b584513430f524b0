#include "model/simulator/stream_values.hpp"

namespace braid::model {
namespace {

// CU_STREAM_WAIT_VALUE_*, the two low bits of the flags.
enum Condition : uint32_t { kGreaterOrEqual = 0, kEqual = 1, kAnd = 2, kNor = 3 };

/// The conditions as the driver API's documentation states them; GEQ compares cyclically.
bool holds(const trace::WaitValue& wait, uint64_t value) {
  const bool wide = wait.bytes == 8;
  const uint64_t mask = wide ? ~uint64_t{0} : 0xffffffffull;
  const uint64_t have = value & mask, want = wait.value & mask;
  switch (wait.flags & 3u) {
    case kGreaterOrEqual:
      return wide ? static_cast<int64_t>(have - want) >= 0
                  : static_cast<int32_t>(static_cast<uint32_t>(have - want)) >= 0;
    case kEqual:
      return have == want;
    case kAnd:
      return (have & want) != 0;
    case kNor:
    default:
      return (~(have | want) & mask) != 0;
  }
}

}  // namespace

bool StreamValues::is_reached(const trace::WaitValue& wait) const {
  const auto it = words_.find(wait.address);
  return holds(wait, it == words_.end() ? 0 : it->second.value);
}

void StreamValues::wait(TaskId task, const trace::WaitValue& wait) {
  words_[wait.address].waiting.emplace_back(task, wait);
}

std::vector<TaskId> StreamValues::write(const trace::WaitValue& write) {
  Word& word = words_[write.address];
  word.value = write.value;
  std::vector<TaskId> reached;
  for (const auto& [task, wait] : word.waiting) {
    if (holds(wait, write.value)) {
      reached.push_back(task);
    }
  }
  std::erase_if(word.waiting, [&](const auto& entry) { return holds(entry.second, write.value); });
  return reached;
}

}  // namespace braid::model
