// Memory words that streams write and wait for (cuStreamWriteValue, cuStreamWaitValue).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/simulator/streams.hpp"
#include "model/trace_format.hpp"

namespace braid::model {

/// The words of one process, by address; all are zero until first written.
class StreamValues {
 public:
  bool is_reached(const trace::WaitValue& wait) const;
  /// Remembers a task that waits; write returns it when its condition holds.
  void wait(TaskId task, const trace::WaitValue& wait);
  /// Stores a value and returns the tasks whose wait it ends, in order of waiting.
  std::vector<TaskId> write(const trace::WaitValue& write);

 private:
  struct Word {
    uint64_t value = 0;
    std::vector<std::pair<TaskId, trace::WaitValue>> waiting;
  };
  std::unordered_map<uint64_t, Word> words_;
};

}  // namespace braid::model
