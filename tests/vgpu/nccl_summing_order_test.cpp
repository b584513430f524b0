// Bits: sums are formed in the order of the ring or chain, chunk by chunk, so how a call is cut and
// which way it travels shows in the result.
#include <random>

#include "model/stock_nccl.hpp"
#include "nccl_test_support.hpp"
#include "vgpu/core/vgpu.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

std::vector<float> random_values(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

/// Rank r's input.
std::vector<float> input(int rank, size_t count) {
  return random_values(count, 1000u + static_cast<unsigned>(rank));
}

/// Sums a call made in pieces of these counts (one after another); every rank's result.
std::vector<std::vector<float>> all_reduce(int ranks, const std::vector<size_t>& pieces) {
  size_t count = 0;
  for (const size_t piece : pieces) {
    count += piece;
  }
  std::vector<std::vector<float>> results(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Rank& rank) {
    DeviceBuffer buffer(count * sizeof(float));
    const std::vector<float> values = input(rank.rank, count);
    std::memcpy(buffer.data(), values.data(), buffer.bytes());
    float* at = buffer.as<float>();
    for (const size_t piece : pieces) {
      ASSERT_NCCL(ncclAllReduce(at, at, piece, ncclFloat32, ncclSum, rank.comm, rank.stream));
      at += piece;
    }
    rank.synchronize();
    results[static_cast<size_t>(rank.rank)].assign(buffer.as<float>(), buffer.as<float>() + count);
  });
  return results;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

constexpr size_t kCount = 300'007;

TEST(NcclSummingOrder, AllRanksGetTheSameBits) {
  const auto results = all_reduce(4, {kCount});
  for (const auto& result : results) {
    EXPECT_TRUE(same_bits(result, results[0]));
  }
}

TEST(NcclSummingOrder, TheSameCallGivesTheSameBits) {
  EXPECT_TRUE(same_bits(all_reduce(4, {kCount})[0], all_reduce(4, {kCount})[0]));
}

TEST(NcclSummingOrder, SplittingACallChangesBitsAtFourRanks) {
  EXPECT_FALSE(
      same_bits(all_reduce(4, {kCount})[0], all_reduce(4, {100'000, kCount - 100'000})[0]));
}

TEST(NcclSummingOrder, SplittingACallKeepsBitsAtTwoRanks) {
  EXPECT_TRUE(same_bits(all_reduce(2, {kCount})[0], all_reduce(2, {100'000, kCount - 100'000})[0]));
}

TEST(NcclSummingOrder, TreeAndRingDiffer) {
  setenv("NCCL_ALGO", "ring", 1);
  const auto ring = all_reduce(4, {kCount});
  setenv("NCCL_ALGO", "tree", 1);
  const auto tree = all_reduce(4, {kCount});
  unsetenv("NCCL_ALGO");
  EXPECT_FALSE(same_bits(ring[0], tree[0]));
}

TEST(NcclSummingOrder, ProtocolsCutDifferently) {
  setenv("NCCL_ALGO", "ring", 1);
  setenv("NCCL_PROTO", "ll", 1);
  const auto ll = all_reduce(4, {4'000'000});
  setenv("NCCL_PROTO", "simple", 1);
  const auto simple = all_reduce(4, {4'000'000});
  unsetenv("NCCL_ALGO");
  unsetenv("NCCL_PROTO");
  EXPECT_FALSE(same_bits(ll[0], simple[0]));
}

/// The ring algorithm played out rank by rank and step by step, as the kernels run it: in step j a
/// rank adds its own part of chunk (position - j) to what its predecessor sent in the step before.
std::vector<float> play_ring(const std::vector<int>& ring, size_t count, size_t chunk,
                             const std::vector<std::vector<float>>& inputs, size_t begin) {
  const size_t n = ring.size();
  std::vector<float> result(count);
  std::vector<std::vector<float>> sent(n);
  for (size_t step = 0; step < n; ++step) {
    std::vector<std::vector<float>> next(n);
    for (size_t position = 0; position < n; ++position) {
      const size_t which = (position + 2 * n - 1 - step) % n;
      const size_t first = which * chunk;
      const size_t elements = first >= count ? 0 : std::min(chunk, count - first);
      const std::vector<float>& own = inputs[static_cast<size_t>(ring[position])];
      for (size_t i = 0; i < elements; ++i) {
        const float mine = own[begin + first + i];
        next[position].push_back(step == 0 ? mine : mine + sent[(position + n - 1) % n][i]);
      }
      if (step + 1 == n) {
        std::copy(next[position].begin(), next[position].end(),
                  result.begin() + static_cast<std::ptrdiff_t>(first));
      }
    }
    sent = std::move(next);
  }
  return result;
}

TEST(NcclSummingOrder, RingSumsAreThoseOfTheAlgorithmPlayedOut) {
  setenv("NCCL_ALGO", "ring", 1);
  setenv("NCCL_PROTO", "simple", 1);
  constexpr int kRanks = 4;
  const auto results = all_reduce(kRanks, {kCount});
  std::vector<std::vector<float>> inputs;
  for (int rank = 0; rank < kRanks; ++rank) {
    inputs.push_back(input(rank, kCount));
  }
  std::vector<int> gpus;
  for (int rank = 0; rank < kRanks; ++rank) {
    gpus.push_back(devices()[static_cast<size_t>(rank)].topology_index);
  }
  model::NcclSettings settings;
  settings.algo = "ring";
  settings.proto = "simple";
  const auto plan = model::plan_stock(topology(), gpus, settings);
  ASSERT_TRUE(plan.has_value());
  const uint64_t bytes = kCount * sizeof(float);
  const auto table = cost_table(*plan, config::Collective::kAllReduce, bytes);
  const auto choice = choose(*plan, table, config::Collective::kAllReduce, bytes);
  // 1.2 MB fits into one loop of every channel: four chunks, each a quarter, in 16-byte steps.
  const size_t cell = (16 << 10) / 2 / sizeof(float);
  const size_t cells = (kCount + cell - 1) / cell;
  const auto channels = static_cast<size_t>(choice.channels);
  const size_t a_channel = (cells + channels - 1) / channels * cell;
  std::vector<float> expected;
  for (size_t channel = 0; expected.size() < kCount; ++channel) {
    const size_t begin = expected.size();
    const size_t count = std::min(a_channel, kCount - begin);
    const size_t chunk = ((count + kRanks - 1) / kRanks + 3) / 4 * 4;
    std::vector<int> ring = plan->ring_channels[channel];
    std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), 0), ring.end());
    const auto part = play_ring(ring, count, chunk, inputs, begin);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_TRUE(same_bits(results[0], expected));
  unsetenv("NCCL_ALGO");
  unsetenv("NCCL_PROTO");
}

TEST(NcclSummingOrder, SixteenBitSumsAreRoundedAtEveryHop) {
  // 256 + 1 + 1 + 1 in bfloat16: each addition of 1 is lost, whatever the order it comes in after
  // 256; a sum rounded once at the end would be 259, that is 260.
  run_ranks(4, [&](Rank& rank) {
    DeviceBuffer buffer(2);
    *buffer.as<uint16_t>() = rank.rank == 1 ? 0x4380 : 0x3f80;
    ASSERT_NCCL(ncclReduce(buffer.data(), buffer.data(), 1, ncclBfloat16, ncclSum, 0, rank.comm,
                           rank.stream));
    rank.synchronize();
    if (rank.rank == 0) {
      EXPECT_EQ(*buffer.as<uint16_t>(), 0x4380);
    }
  });
}

}  // namespace
}  // namespace braid::vgpu::nccl::testing
