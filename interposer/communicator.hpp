// What braid knows of each communicator of the program.
#pragma once

#include <cuda.h>
#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interposer/agreement/member.hpp"
#include "interposer/gemm_pairs.hpp"
#include "interposer/plan_table.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {

/// One communicator. Its collectives come from one thread at a time; the plan may be looked at by
/// the thread that issues GEMMs, the observations by the coordinator's helper thread.
struct CommunicatorState {
  ncclComm_t handle = nullptr;
  uint32_t id = 0;
  int rank = 0;
  int n_ranks = 0;
  int device = 0;
  std::string name;       // ncclConfig_t.commName
  uint64_t children = 0;  // splits and shrinks so far, for the children's hashes
  uint64_t hash = 0;      // equal on all ranks

  std::vector<std::string> bus_ids;  // of the ranks' GPUs, in rank order; known once active

  bool active = false;                         // all ranks agreed to follow a plan
  Refusal stock_reason = Refusal::kNotAgreed;  // when not
  bool frozen = false;                         // the plan is the policy's; no leases

  uint64_t sequence = 0;           // collectives so far
  CUstream side_stream = nullptr;  // made at first use, highest priority, non-blocking

  /// GEMMs that fed collectives on this rank, by signature.
  struct Observation {
    Signature signature;
    GemmShape shape;
    uint64_t seen = 0;
  };
  std::mutex observed_mutex;
  std::vector<Observation> observed;

  ~CommunicatorState();

  /// The plan entry for the next collective if the lease at hand covers it; nullptr: one call, or
  /// not known yet. Never waits.
  std::shared_ptr<const PlanEntry> peek_plan(const Signature& signature);

  /// Counts a collective and returns its plan entry; at the end of a lease waits for the
  /// coordinator's helper thread. nullptr: one call, as it stands. `lost`: the side channel broke,
  /// and what the other ranks do cannot be known; the call must fail.
  std::shared_ptr<const PlanEntry> take_plan(const Signature& signature, bool* lost);

  /// Takes the count of `collectives` calls back that were not made after all (refused by NCCL, or
  /// only simulated): the other ranks have not counted them.
  void uncount(uint64_t collectives);

  /// Ends any wait for the coordinator, from any thread.
  void interrupt() { member_.interrupt(); }

  /// The side channel of this communicator, from its check-in.
  void adopt_member(Member member);
  /// A plan that holds for every collective from here on (frozen, or fixed by the policy).
  void set_fixed_plan(std::vector<PlanEntry> entries);
  const Token& token() const { return member_.token(); }
  /// The entries in force, for the final plan.
  std::vector<PlanEntry> entries_in_force();

  /// Why a collective without a plan entry is made as it stands, from the policy; remembered.
  Refusal reason_for_whole(const Signature& signature);

  void observe_pair(const Signature& signature, const GemmShape& shape);
  std::vector<Observation> observations();

 private:
  struct WholeReason {
    Signature signature;
    bool pair_known = false;
    Refusal refusal{};
  };

  std::shared_ptr<const PlanEntry> find_entry(uint64_t number, const Signature& signature) const;
  bool is_covered(uint64_t number) const;
  void adopt(std::optional<PlanRange> range);

  std::mutex plan_mutex_;
  Member member_;
  std::vector<std::shared_ptr<const PlanRange>> ranges_;  // the last one or two leases
  bool plan_ended_ = false;                               // stock from here on
  std::vector<WholeReason> whole_reasons_;                // touched by the collectives' thread only
};

/// Handle → state. Thread safe.
class CommunicatorRegistry {
 public:
  static CommunicatorRegistry& instance();

  void add(std::shared_ptr<CommunicatorState> state);
  std::shared_ptr<CommunicatorState> find(ncclComm_t handle);
  std::shared_ptr<CommunicatorState> find_by_id(uint32_t id);
  std::vector<std::shared_ptr<CommunicatorState>> all();
  /// Forgets it; the caller holds the last reference.
  std::shared_ptr<CommunicatorState> remove(ncclComm_t handle);
  uint32_t next_id() { return next_id_.fetch_add(1) + 1; }

 private:
  std::mutex mutex_;
  std::unordered_map<ncclComm_t, std::shared_ptr<CommunicatorState>> states_;
  std::atomic<uint32_t> next_id_{0};
};

}  // namespace braid::interposer
