#include "interposer/gemm_pairs.hpp"

#include "config/digest.hpp"

namespace braid::interposer {
namespace {

// Beyond this many kinds of GEMM that feed collectives the program is not repeating itself.
constexpr size_t kMaxExpectations = 4096;

uint64_t digest_of(const LearnedPair& pair) {
  config::Digest digest;
  digest.add(pair.communicator).add(pair.signature.function).add(pair.signature.count);
  return digest.value();
}

}  // namespace

uint64_t PairLearner::DeviceState::context_of(uint64_t key) const {
  config::Digest digest;
  digest.add(key);
  for (const uint64_t event : history) {
    digest.add(event);
  }
  return digest.value();
}

void PairLearner::DeviceState::remember(uint64_t event) {
  for (size_t i = kHistory - 1; i > 0; --i) {
    history[i] = history[i - 1];
  }
  history[0] = event;
}

PairLearner& PairLearner::instance() {
  static auto* learner = new PairLearner();  // never destroyed: hooks run until the very end
  return *learner;
}

void PairLearner::note_gemm(int device, uint64_t key, const GemmShape& shape,
                            const MemoryRange& output) {
  std::lock_guard<std::mutex> lock(mutex_);
  DeviceState& state = devices_[device];
  state.recent[state.next++ % kRecent] = {state.context_of(key), shape, output};
  state.remember(key);
}

std::optional<GemmShape> PairLearner::match(int device, const MemoryRange& input,
                                            const LearnedPair& pair) {
  std::lock_guard<std::mutex> lock(mutex_);
  DeviceState& state = devices_[device];
  state.remember(digest_of(pair));
  for (size_t back = 1; back <= kRecent && back <= state.next; ++back) {
    const RecentGemm& gemm = state.recent[(state.next - back) % kRecent];
    if (!gemm.output.overlaps(input)) {
      continue;
    }
    // The latest GEMM that wrote any of the input is the only one that counts.
    if (gemm.output.begin != input.begin || gemm.output.end != input.end) {
      return std::nullopt;
    }
    if (state.expected.size() >= kMaxExpectations && !state.expected.contains(gemm.context)) {
      return std::nullopt;
    }
    Expectation& expected = state.expected[gemm.context];
    if (!(expected.pair.signature == pair.signature) ||
        expected.pair.communicator != pair.communicator) {
      expected = {};
    }
    expected.pair = pair;
    ++expected.hits;
    expected.open = false;
    return gemm.shape;
  }
  return std::nullopt;
}

std::optional<LearnedPair> PairLearner::predict(int device, uint64_t key) {
  std::lock_guard<std::mutex> lock(mutex_);
  DeviceState& state = devices_[device];
  const auto it = state.expected.find(state.context_of(key));
  if (it == state.expected.end()) {
    return std::nullopt;
  }
  Expectation& expected = it->second;
  if (expected.open) {
    ++expected.misses;
  }
  expected.open = true;
  // A GEMM cut in vain costs its extra launches each time: stop when it is wrong a fifth of the
  // time.
  if (expected.misses > 2 && expected.misses * 4 > expected.hits) {
    return std::nullopt;
  }
  return expected.pair;
}

}  // namespace braid::interposer
