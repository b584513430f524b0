#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/closed_form.hpp"

namespace braid::model {
namespace {

double brute_force(const PipelineCosts& costs, int max_parts) {
  double least = pipeline_time(costs, 1);
  for (int n = 2; n <= max_parts; ++n) {
    least = std::min(least, pipeline_time(costs, n));
  }
  return least;
}

TEST(ClosedForm, EqualsBruteForceOn200000RandomCases) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-2, 4);
  std::bernoulli_distribution free_part(0.02);
  const auto total = [&] { return std::pow(10.0, exponent(random)); };
  const auto fixed = [&] { return free_part(random) ? 0.0 : std::pow(10.0, exponent(random) - 2); };
  int misses = 0;
  for (int i = 0; i < 200000; ++i) {
    const PipelineCosts costs{total(), fixed(), total(), fixed()};
    const int n = best_parts(costs, 64);
    ASSERT_GE(n, 1);
    ASSERT_LE(n, 64);
    misses += pipeline_time(costs, n) > brute_force(costs, 64) * (1 + 1e-12) ? 1 : 0;
  }
  EXPECT_EQ(misses, 0);
}

TEST(ClosedForm, OnePartIsSerial) {
  const PipelineCosts costs{100, 2, 50, 3};
  EXPECT_DOUBLE_EQ(pipeline_time(costs, 1), 155);
}

TEST(ClosedForm, DegenerateCosts) {
  EXPECT_EQ(best_parts({0, 0, 0, 0}), 1);
  EXPECT_EQ(best_parts({100, 0, 100, 0}, 64), 64);
  EXPECT_EQ(best_parts({100, 5, 0, 5}), 1);
  EXPECT_EQ(best_parts({100, 1, 100, 1}, 0), 1);
  EXPECT_EQ(best_parts({100, 1, 100, 1}, 1), 1);
}

TEST(ClosedForm, RegimesOfTheFormula) {
  // Compute-bound: n = √(M0/γ); transfer-bound: n = √(C0/α).
  EXPECT_EQ(best_parts({1000, 1, 100, 1}), 10);
  EXPECT_EQ(best_parts({100, 1, 1000, 1}), 10);
}

WaveShape shape(int sms) {
  WaveShape wave;
  wave.m = 8192;
  wave.n = 4096;
  wave.tile_m = 128;
  wave.tile_n = 256;
  wave.sms = sms;
  wave.tile_us = 1;
  return wave;
}

double inflation(int sms, int parts) {
  return wave_compute_time(shape(sms), parts, 0) / wave_compute_time(shape(sms), 1, 0);
}

TEST(ClosedForm, WaveInflationOfTheWorkedExample) {
  for (const int n : {2, 4, 8}) {
    EXPECT_DOUBLE_EQ(inflation(132, n), 1.0) << n;
  }
  EXPECT_DOUBLE_EQ(inflation(132, 3), 1.125);
  EXPECT_DOUBLE_EQ(inflation(132, 16), 2.0);
  EXPECT_NEAR(inflation(116, 2), 1.11, 0.005);
  EXPECT_NEAR(inflation(116, 4), 1.33, 0.005);
  EXPECT_NEAR(inflation(116, 8), 1.78, 0.005);
}

TEST(ClosedForm, WavesKeepTheNumberOfPartsDown) {
  // Without waves many parts would pay; on 116 SMs eight parts cost 1.78 times the compute.
  const int free_of_waves = best_parts({9, 0.01, 9, 0.01});
  const int with_waves = best_parts_with_waves(shape(116), 0.01, 9, 0.01);
  EXPECT_GT(free_of_waves, 16);
  EXPECT_EQ(with_waves, 10);  // seven tile rows a part: one wave, 9% of it idle
}

TEST(ClosedForm, NearTiesGoToFewerParts) {
  const WaveShape wave = shape(132);
  const int n = best_parts_with_waves(wave, 0, 0.01, 0);
  EXPECT_EQ(n, 1);  // next to nothing to hide
}

TEST(ClosedForm, NeverCutsBelowOneRowOfTiles) {
  WaveShape wave = shape(132);
  wave.m = 256;
  EXPECT_LE(best_parts_with_waves(wave, 0, 100, 0), 2);
}

}  // namespace
}  // namespace braid::model
