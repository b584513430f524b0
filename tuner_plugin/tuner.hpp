// What the tuner plugin does, whatever version of the interface NCCL speaks. shims.cpp holds the
// versions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/environment.hpp"
#include "config/policy.hpp"
#include "tuner_plugin/abi/tuner.hpp"
#include "tuner_plugin/choice_table.hpp"

namespace braid::tuner {

/// What decides about a process's communicators; the same for all of them.
struct Settings {
  config::Policy policy;             // without rules when there is nothing to do
  std::optional<Error> error;        // why the policy cannot be used
  bool fail_on_error = true;         // BRAID_ON_ERROR
  std::string idle_reason;           // why nothing will be done though nothing is wrong
  bool stock_choice_is_set = false;  // NCCL_ALGO or NCCL_PROTO
};

/// Settings from braid's environment; reads the policy file. `stock_choice_is_set` as in Settings.
Settings make_settings(const config::Environment& environment,
                       const std::optional<Error>& environment_error, bool stock_choice_is_set);

/// The settings of this process, made at the first call and kept: a policy file that changes while
/// the job runs must not divide its communicators.
const Settings& process_settings();

/// One communicator's tuner. Its answers depend on nothing but the policy, the number of ranks and
/// nodes, and the arguments that NCCL gives to all ranks alike, because NCCL exchanges nothing
/// afterwards. Answering allocates nothing and never fails.
class Tuner {
 public:
  /// `logger` may be null: then messages go to braid's own log. Says once what will be done.
  Tuner(const Settings& settings, size_t ranks, size_t nodes, abi::Logger logger);

  /// Version 3 and later. Makes the pair that the rule asks for the cheapest entry of `table`
  /// (algorithms × protocols, row by row) and sets `*channels`. Steps aside, changing nothing,
  /// where the pair is marked ignored or does not exist.
  void choose(abi::Function function, size_t bytes, float* table, int algorithms, int protocols,
              int* channels);

  /// Version 2, which has no table: sets all outputs or none. NCCL 2.21 checks nothing, so a pair
  /// is only named where it exists on every machine: LL and Simple. Steps aside when NCCL_ALGO or
  /// NCCL_PROTO is set, and for rules that leave the algorithm or the protocol to NCCL.
  void choose_without_table(abi::Function function, size_t bytes, int* algorithm, int* protocol,
                            int* channels);

 private:
  enum Reason : uint32_t { kIgnoredEntry, kNeedsTable, kLl128Unknown, kStockChoice };

  void say(abi::LogLevel level, const char* format, ...) const
      __attribute__((format(printf, 3, 4)));
  void step_aside(Reason reason);

  ChoiceTable choices_;
  abi::Logger logger_;
  bool stock_choice_is_set_;
  std::atomic<uint32_t> said_{0};  // a bit a Reason
};

/// Makes a communicator's tuner. Fails with the reason, which it also logs as a warning, when the
/// policy is broken and not BRAID_ON_ERROR=stock.
Result<std::unique_ptr<Tuner>> make_tuner(const Settings& settings, size_t ranks, size_t nodes,
                                          abi::Logger logger);

}  // namespace braid::tuner
