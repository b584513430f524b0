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

TEST(PairLearner, LearnsTheLatestWriterOnly) {
  PairLearner learner;
  const GemmShape shape{4, 4, 4, 0, 0};
  LearnedPair pair;
  pair.communicator = 1;
  pair.signature.count = 16;
  EXPECT_FALSE(learner.predict(0, 11));
  learner.note_gemm(0, 11, shape, {100, 164});
  EXPECT_EQ(learner.match(0, {100, 164}, pair), shape);
  EXPECT_TRUE(learner.predict(0, 11));
  EXPECT_FALSE(learner.predict(1, 11)) << "another device";
  // A later GEMM that wrote part of the input hides the first.
  learner.note_gemm(0, 11, shape, {100, 164});
  learner.note_gemm(0, 12, shape, {160, 200});
  EXPECT_FALSE(learner.match(0, {100, 164}, pair));
}

TEST(PairLearner, GivesUpOnAPairThatFails) {
  PairLearner learner;
  const GemmShape shape{4, 4, 4, 0, 0};
  LearnedPair pair;
  pair.communicator = 1;
  learner.note_gemm(0, 5, shape, {0, 64});
  ASSERT_TRUE(learner.match(0, {0, 64}, pair));
  int predicted = 0;
  for (int i = 0; i < 20; ++i) {
    predicted += learner.predict(0, 5) ? 1 : 0;
  }
  EXPECT_LT(predicted, 6);
}

}  // namespace
}  // namespace braid::interposer
