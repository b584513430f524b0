// How many steps tell whether a rewriting gains: a sequential test on step periods.
#pragma once

#include <cstdint>
#include <vector>

namespace braid::policies {

enum class TrialVerdict : uint8_t { kUndecided, kKeep, kWithdraw };

struct TrialOptions {
  double least_gain = 0.02;      // gain of the plan over stock that is worth keeping
  double false_keep = 0.05;      // chance of keeping a plan that gains nothing
  double false_withdraw = 0.05;  // chance of withdrawing one that gains least_gain
  int warm_up = 2;               // periods dropped after each change of arm
  int most_periods = 256;        // an arm; undecided then means withdraw
};

/// Compares the periods of two arms that alternate. Robust to outliers (data loader stalls,
/// checkpoints). Pure: time comes in as numbers; all ranks feed it the same exchanged numbers and
/// so reach the same verdict at the same period.
class Trial {
 public:
  explicit Trial(const TrialOptions& options = {});

  /// True: the next period runs the plan, false: stock. ABBA order in blocks.
  bool next_is_plan() const;
  /// Period of the arm that next_is_plan named, in µs.
  void add_period(double period_us);

  TrialVerdict verdict() const;
  /// Estimated gain (stock/plan - 1) and its standard error; 0 while unknown.
  double gain() const;
  double standard_error() const;

  /// Periods an arm needs to tell `least_gain` at this noise (coefficient of variation).
  static int periods_needed(double noise, const TrialOptions& options = {});

 private:
  TrialOptions options_;
  std::vector<double> plan_, stock_;
  int64_t seen_ = 0;
};

}  // namespace braid::policies
