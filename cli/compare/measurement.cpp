#include "cli/compare/measurement.hpp"

#include <algorithm>
#include <random>

namespace braid::cli {
namespace {

constexpr int kResamples = 2000;
constexpr uint64_t kSeed = 20261130;

/// One draw of the two-level bootstrap: runs with replacement, then steps of each with replacement.
double resampled_median(const MeasuredSteps& steps, std::mt19937_64* random) {
  std::vector<double> drawn;
  std::uniform_int_distribution<size_t> pick_run(0, steps.runs_us.size() - 1);
  for (size_t r = 0; r < steps.runs_us.size(); ++r) {
    const std::vector<double>& run = steps.runs_us[pick_run(*random)];
    std::uniform_int_distribution<size_t> pick_step(0, run.size() - 1);
    for (size_t i = 0; i < run.size(); ++i) {
      drawn.push_back(run[pick_step(*random)]);
    }
  }
  return median_of(std::move(drawn));
}

std::pair<double, double> central_range(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double fraction) {
    return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
  };
  return {at(0.025), at(0.975)};
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> MeasuredSteps::all() const {
  std::vector<double> values;
  for (const auto& run : runs_us) {
    values.insert(values.end(), run.begin(), run.end());
  }
  return values;
}

Status add_run(const model::trace::Trace& trace, const StepRule& rule, MeasuredSteps* steps) {
  if (trace.ranks.empty()) {
    return fail("trace", "the job made no NCCL call, so there is no step to measure");
  }
  const auto found = find_host_steps(trace.ranks.front(), rule);
  if (!found) {
    return tl::unexpected(found.error());
  }
  std::vector<double> lengths = found->lengths_us();
  if (lengths.size() > 1) {
    lengths.erase(lengths.begin());
  }
  steps->runs_us.push_back(std::move(lengths));
  return {};
}

std::vector<int> alternating_order(int arms, int rounds) {
  std::vector<int> order;
  for (int round = 0; round < rounds; ++round) {
    for (int arm = 0; arm < arms; ++arm) {
      order.push_back(arm);
    }
    for (int arm = arms - 1; arm >= 0; --arm) {
      order.push_back(arm);
    }
  }
  return order;
}

model::Prediction measured_interval(const MeasuredSteps& steps) {
  std::mt19937_64 random(kSeed);
  std::vector<double> medians;
  for (int i = 0; i < kResamples; ++i) {
    medians.push_back(resampled_median(steps, &random));
  }
  const auto [low, high] = central_range(std::move(medians));
  return {median_of(steps.all()), low, high};
}

model::SpeedupPrediction measured_speedup(const MeasuredSteps& baseline, const MeasuredSteps& arm) {
  std::mt19937_64 random(kSeed);
  std::vector<double> ratios;
  for (int i = 0; i < kResamples; ++i) {
    const double stock_us = resampled_median(baseline, &random);
    ratios.push_back(stock_us / std::max(resampled_median(arm, &random), 1e-9));
  }
  const auto [low, high] = central_range(std::move(ratios));
  return {median_of(baseline.all()) / std::max(median_of(arm.all()), 1e-9), low, high};
}

}  // namespace braid::cli
