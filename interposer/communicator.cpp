#include "interposer/communicator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "interposer/driver_api.hpp"
#include "interposer/planner.hpp"
#include "interposer/process_state.hpp"
#include "interposer/settings.hpp"
#include "interposer/stream_ledger.hpp"

namespace braid::interposer {

CommunicatorState::~CommunicatorState() {
  const DriverApi* driver = driver_api();
  if (side_stream != nullptr && driver != nullptr && is_active()) {
    StreamLedger::instance().note_stream_destroyed(side_stream);
    RealCallGuard guard;
    driver->stream_destroy(side_stream);
  }
}

bool CommunicatorState::is_covered(uint64_t number) const {
  return !ranges_.empty() && number < ranges_.back()->to;
}

std::shared_ptr<const PlanEntry> CommunicatorState::find_entry(uint64_t number,
                                                               const Signature& signature) const {
  for (const auto& range : ranges_) {
    if (number >= range->from && number < range->to) {
      const PlanEntry* entry = range->find(signature);
      return entry != nullptr ? std::shared_ptr<const PlanEntry>(range, entry) : nullptr;
    }
  }
  return nullptr;
}

void CommunicatorState::adopt_member(Member member) { member_ = std::move(member); }

void CommunicatorState::set_fixed_plan(std::vector<PlanEntry> entries) {
  std::lock_guard<std::mutex> lock(plan_mutex_);
  ranges_ = {std::make_shared<PlanRange>(
      PlanRange{0, std::numeric_limits<uint64_t>::max(), std::move(entries)})};
}

std::vector<PlanEntry> CommunicatorState::entries_in_force() {
  std::lock_guard<std::mutex> lock(plan_mutex_);
  // The last range may have been asked for and not used; what it holds is what was decided last.
  return ranges_.empty() ? std::vector<PlanEntry>{} : ranges_.back()->entries;
}

void CommunicatorState::adopt(std::optional<PlanRange> range) {
  const uint64_t expected = ranges_.empty() ? 0 : ranges_.back()->to;
  if (!range || range->from != expected) {
    plan_ended_ = member_.is_closed();
    return;
  }
  // Only the range in use and the next one are kept.
  if (ranges_.size() == 2) {
    ranges_.erase(ranges_.begin());
  }
  ranges_.push_back(std::make_shared<const PlanRange>(std::move(*range)));
}

std::shared_ptr<const PlanEntry> CommunicatorState::peek_plan(const Signature& signature) {
  // A collective of this communicator that is being issued holds the lock, perhaps waiting for a
  // lease: then the GEMM simply runs whole.
  std::unique_lock<std::mutex> lock(plan_mutex_, std::try_to_lock);
  if (!active || !lock.owns_lock()) {
    return nullptr;
  }
  if (!plan_ended_ && !is_covered(sequence) && member_.is_requested()) {
    if (auto range = member_.poll_range()) {
      adopt(std::move(range));
    }
  }
  return find_entry(sequence, signature);
}

std::shared_ptr<const PlanEntry> CommunicatorState::take_plan(const Signature& signature,
                                                              bool* lost) {
  std::lock_guard<std::mutex> lock(plan_mutex_);
  const uint64_t number = sequence++;
  *lost = false;
  if (!active) {
    return nullptr;
  }
  if (!plan_ended_ && !is_covered(number)) {
    member_.request_range(number);
    adopt(member_.wait_range());
    *lost = !plan_ended_ && !is_covered(number);
  }
  // The next lease is asked for as soon as this one is used up, so that it is at hand when the next
  // GEMM is issued.
  if (!plan_ended_ && !is_covered(number + 1)) {
    member_.request_range(number + 1);
  }
  return find_entry(number, signature);
}

void CommunicatorState::uncount(uint64_t collectives) {
  std::lock_guard<std::mutex> lock(plan_mutex_);
  sequence -= std::min(sequence, collectives);
}

Refusal CommunicatorState::reason_for_whole(const Signature& signature) {
  std::optional<GemmShape> shape;
  {
    std::lock_guard<std::mutex> lock(observed_mutex);
    for (const Observation& observation : observed) {
      if (observation.signature == signature) {
        shape = observation.shape;
      }
    }
  }
  for (const WholeReason& known : whole_reasons_) {
    if (known.signature == signature && known.pair_known == shape.has_value()) {
      return known.refusal;
    }
  }
  const auto planned = plan_collective(*policy(), *this, signature, shape ? &*shape : nullptr);
  // What would be split, but is not in the lease yet, has only just been learned.
  const Refusal reason =
      std::holds_alternative<Refusal>(planned) ? std::get<Refusal>(planned) : Refusal::kNoPair;
  constexpr size_t kMaxRemembered = 1024;
  if (whole_reasons_.size() < kMaxRemembered) {
    whole_reasons_.push_back({signature, shape.has_value(), reason});
  }
  return reason;
}

void CommunicatorState::observe_pair(const Signature& signature, const GemmShape& shape) {
  std::lock_guard<std::mutex> lock(observed_mutex);
  for (Observation& observation : observed) {
    if (observation.signature == signature) {
      // A signature fed by several shapes keeps the latest: it is the one most likely to come
      // again.
      observation.seen = observation.shape == shape ? observation.seen + 1 : 1;
      observation.shape = shape;
      return;
    }
  }
  constexpr size_t kMaxObservations = 256;
  if (observed.size() < kMaxObservations) {
    observed.push_back({signature, shape, 1});
  }
}

std::vector<CommunicatorState::Observation> CommunicatorState::observations() {
  std::lock_guard<std::mutex> lock(observed_mutex);
  return observed;
}

CommunicatorRegistry& CommunicatorRegistry::instance() {
  static auto* registry = new CommunicatorRegistry();  // never destroyed: hooks run until the end
  return *registry;
}

void CommunicatorRegistry::add(std::shared_ptr<CommunicatorState> state) {
  std::lock_guard<std::mutex> lock(mutex_);
  states_[state->handle] = std::move(state);
}

std::shared_ptr<CommunicatorState> CommunicatorRegistry::find(ncclComm_t handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = states_.find(handle);
  return it != states_.end() ? it->second : nullptr;
}

std::shared_ptr<CommunicatorState> CommunicatorRegistry::find_by_id(uint32_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [handle, state] : states_) {
    if (state->id == id) {
      return state;
    }
  }
  return nullptr;
}

std::vector<std::shared_ptr<CommunicatorState>> CommunicatorRegistry::all() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<CommunicatorState>> states;
  for (const auto& [handle, state] : states_) {
    states.push_back(state);
  }
  return states;
}

std::shared_ptr<CommunicatorState> CommunicatorRegistry::remove(ncclComm_t handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = states_.find(handle);
  if (it == states_.end()) {
    return nullptr;
  }
  auto state = std::move(it->second);
  states_.erase(it);
  return state;
}

}  // namespace braid::interposer
