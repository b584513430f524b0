// Rule 3 and the pair learner, alone.
#include <gtest/gtest.h>

#include "interposer/execute/producer.hpp"
#include "interposer/gemm_pairs.hpp"
#include "interposer/hooks/gemm_call.hpp"

namespace braid::interposer {
namespace {

struct Overtaking {
  SplitGemm gemm;
  CollectiveCall call;

  // Output at 1000..1400, operands at 2000..2100 and 3000..3100.
  Overtaking() {
    gemm.output = {1000, 1400};
    gemm.operands = {{2000, 2100}, {3000, 3100}};
    call.send = reinterpret_cast<const void*>(1000);
    call.receive = reinterpret_cast<void*>(5000);
    call.count = 100;
    call.type = ncclFloat32;
  }
  Refusal refusal() const {
    Refusal why = Refusal::kCount;
    EXPECT_FALSE(may_overtake(gemm, call, &why));
    return why;
  }
  bool allowed() const {
    Refusal why{};
    return may_overtake(gemm, call, &why);
  }
};

TEST(RuleThree, AllowsDisjointAndInPlace) {
  Overtaking apart;
  EXPECT_TRUE(apart.allowed());
  Overtaking in_place;
  in_place.call.receive = reinterpret_cast<void*>(1000);
  EXPECT_TRUE(in_place.allowed());
}

TEST(RuleThree, RefusesEveryOverlap) {
  for (const uint64_t receive : {1601ull, 1999ull, 2099ull, 2700ull, 3099ull}) {
    Overtaking overlapping;
    overlapping.call.receive = reinterpret_cast<void*>(receive);
    EXPECT_EQ(overlapping.refusal(), Refusal::kMemoryOverlap) << receive;
  }
  for (const uint64_t receive : {601ull, 1004ull, 1396ull}) {
    Overtaking shifted;
    shifted.call.receive = reinterpret_cast<void*>(receive);
    EXPECT_EQ(shifted.refusal(), Refusal::kMemoryOverlap) << receive;
  }
}

TEST(RuleThree, RefusesAnotherInput) {
  Overtaking shorter;
  shorter.call.count = 99;
  EXPECT_EQ(shorter.refusal(), Refusal::kOtherBuffer);
  Overtaking shifted;
  shifted.call.send = reinterpret_cast<const void*>(1004);
  EXPECT_EQ(shifted.refusal(), Refusal::kOtherBuffer);
}

TEST(Extents, OfColumnMajorMatrices) {
  const auto* base = reinterpret_cast<const void*>(4096);
  EXPECT_EQ(extent_of_matrix(base, 3, 5, 8, 4).end, 4096u + (4 * 8 + 3) * 4);
  EXPECT_EQ(extent_of_matrix(base, 0, 5, 8, 4).end, 4096u);
  EXPECT_EQ(extent_of_matrix(base, 8, 1, 8, 2).end, 4096u + 16);
}

constexpr GemmShape kShape{4, 4, 4, 0, 0};

LearnedPair pair_of(uint32_t communicator) {
  LearnedPair pair;
  pair.communicator = communicator;
  pair.signature.count = 16;
  return pair;
}

// One step of a program: two GEMMs of the same kind, the second feeding a collective.
struct Step {
  bool first_predicted = false;
  bool second_predicted = false;
};
Step run_step(PairLearner& learner, bool with_collective = true) {
  Step step;
  step.first_predicted = learner.predict(0, 11).has_value();
  learner.note_gemm(0, 11, kShape, {500, 564});
  step.second_predicted = learner.predict(0, 11).has_value();
  learner.note_gemm(0, 11, kShape, {100, 164});
  if (with_collective) {
    EXPECT_EQ(learner.match(0, {100, 164}, pair_of(1)), kShape);
  }
  return step;
}

TEST(PairLearner, TellsEqualGemmsApartByWhatCameBefore) {
  PairLearner learner;
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    run_step(learner);
  }
  for (int i = 0; i < 20; ++i) {
    const Step step = run_step(learner);
    EXPECT_FALSE(step.first_predicted);
    EXPECT_TRUE(step.second_predicted);
  }
  EXPECT_FALSE(learner.predict(1, 11)) << "another device";
}

TEST(PairLearner, CountsTheLatestWriterOnly) {
  PairLearner learner;
  learner.note_gemm(0, 11, kShape, {100, 164});
  learner.note_gemm(0, 12, kShape, {160, 200});
  EXPECT_FALSE(learner.match(0, {100, 164}, pair_of(1)));
}

TEST(PairLearner, GivesUpOnAPairThatFails) {
  PairLearner learner;
  for (int i = 0; i < 6; ++i) {
    run_step(learner);
  }
  // From here on no collective follows; the same GEMMs come again and again.
  int predicted = 0;
  for (int i = 0; i < 40; ++i) {
    predicted += run_step(learner, false).second_predicted ? 1 : 0;
  }
  EXPECT_LT(predicted, 8);
}

}  // namespace
}  // namespace braid::interposer
