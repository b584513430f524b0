// The side channel: messages, the verdict, leases, strangers.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "interposer/agreement/coordinator.hpp"
#include "interposer/agreement/member.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {
namespace {

CheckIn rank_of(int rank, int n_ranks) {
  CheckIn check_in;
  check_in.rank = rank;
  check_in.n_ranks = n_ranks;
  check_in.process = own_process_digest();
  check_in.bus_id = "0000:1" + std::to_string(rank) + ":00.0";
  return check_in;
}

PlanEntry entry_of(uint64_t count) {
  PlanEntry entry;
  entry.signature.count = count;
  entry.boundaries = {0, count / 2, count};
  return entry;
}

TEST(Messages, SurviveARoundTrip) {
  CheckIn check_in = rank_of(3, 8);
  check_in.broken = "policy.toml:3: unknown key";
  const auto read = decode_check_in(encode(check_in));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rank, 3);
  EXPECT_EQ(read->broken, check_in.broken);
  EXPECT_EQ(read->bus_id, check_in.bus_id);
  const PlanRange range{4, 8, {entry_of(100)}};
  const auto plan = decode_plan_range(encode(range));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->entries.size(), 1u);
  EXPECT_EQ(plan->entries[0].boundaries, range.entries[0].boundaries);
}

TEST(Messages, RefuseEveryCutAndRandomBytes) {
  const std::vector<uint8_t> good = encode(PlanRange{0, 4, {entry_of(64), entry_of(128)}});
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode_plan_range({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)}));
  }
  const uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes = good;
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    if (const auto plan = decode_plan_range(bytes)) {
      for (const PlanEntry& entry : plan->entries) {
        ASSERT_EQ(entry.boundaries.front(), 0u);
        ASSERT_EQ(entry.boundaries.back(), entry.signature.count);
      }
    }
    decode_check_in(bytes);
    decode_verdict(bytes);
  }
}

TEST(Judge, SaysWhy) {
  std::map<int, CheckIn> all{{0, rank_of(0, 2)}, {1, rank_of(1, 2)}};
  EXPECT_EQ(judge(all, 2, own_process_digest()).kind, VerdictKind::kActive);
  EXPECT_EQ(judge(all, 3, own_process_digest()).refusal,
            static_cast<uint32_t>(Refusal::kNotAgreed));
  EXPECT_EQ(judge(all, 2, 7).refusal, static_cast<uint32_t>(Refusal::kSideChannel));
  all[1].nonblocking = 1;
  EXPECT_EQ(judge(all, 2, own_process_digest()).refusal,
            static_cast<uint32_t>(Refusal::kNonblocking));
  all[1].policy_digest = 5;
  EXPECT_EQ(judge(all, 2, own_process_digest()).refusal,
            static_cast<uint32_t>(Refusal::kNotAgreed));
  all[0].broken = "policy.toml:1: no";
  const Verdict verdict = judge(all, 2, own_process_digest());
  EXPECT_EQ(verdict.kind, VerdictKind::kFail);
  EXPECT_NE(verdict.reason.find("rank 0: policy.toml:1"), std::string::npos);
}

TEST(Stamp, LeavesAnIdInUseAlone) {
  ncclUniqueId id{};
  id.internal[NCCL_UNIQUE_ID_BYTES - 1] = 1;
  Endpoint endpoint;
  endpoint.address.ss_family = AF_INET;
  EXPECT_FALSE(stamp_unique_id(&id, Token{}, endpoint));
  EXPECT_FALSE(read_stamp(id));
}

// Four ranks as threads: all hear the same verdict and lease the same ranges, whoever asks first.
TEST(Leases, AreTheSameForAllRanks) {
  ncclUniqueId id{};
  Coordinator::instance().stamp(&id);
  const auto stamp = read_stamp(id);
  ASSERT_TRUE(stamp);
  std::atomic<int> decisions{0};
  constexpr int kRanks = 4;
  std::vector<std::vector<uint64_t>> seen(kRanks);
  std::atomic<int> joined{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Member member = Member::check_in(id, rank_of(rank, kRanks));
      ASSERT_TRUE(member.is_connected());
      // The real init returns once all have entered it.
      ++joined;
      while (joined < kRanks) {
        std::this_thread::yield();
      }
      const Verdict verdict = member.hear_verdict(ncclSuccess);
      ASSERT_EQ(verdict.kind, VerdictKind::kActive) << verdict.reason;
      ASSERT_EQ(verdict.bus_ids.size(), 4u);
      Coordinator::instance().add_member(stamp->token, rank, [&](uint64_t from, uint64_t to) {
        ++decisions;
        return std::vector<PlanEntry>{entry_of(from * 1000 + to)};
      });
      uint64_t from = 0;
      for (int lease = 0; lease < 20; ++lease) {
        member.request_range(from);
        const auto range = member.wait_range();
        ASSERT_TRUE(range);
        ASSERT_EQ(range->from, from);
        seen[static_cast<size_t>(rank)].push_back(range->entries[0].signature.count);
        from = range->to;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(decisions, 20);
  for (int rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(seen[static_cast<size_t>(rank)], seen[0]);
  }
}

// A rank may ask for its first lease before the coordinator's own rank has joined.
TEST(Leases, AskedForTooEarlyAreEmptyForAll) {
  ncclUniqueId id{};
  Coordinator::instance().stamp(&id);
  const auto stamp = read_stamp(id);
  ASSERT_TRUE(stamp);
  Member first = Member::check_in(id, rank_of(0, 2));
  Member second = Member::check_in(id, rank_of(1, 2));
  ASSERT_EQ(second.hear_verdict(ncclSuccess).kind, VerdictKind::kActive);
  second.request_range(0);
  const auto early = second.wait_range();
  ASSERT_TRUE(early);
  EXPECT_TRUE(early->entries.empty());
  ASSERT_EQ(first.hear_verdict(ncclSuccess).kind, VerdictKind::kActive);
  Coordinator::instance().add_member(
      stamp->token, 0, [](uint64_t, uint64_t) { return std::vector<PlanEntry>{entry_of(10)}; });
  first.request_range(0);
  const auto late = first.wait_range();
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->entries.empty());
  first.request_range(late->to);
  const auto next = first.wait_range();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->entries.size(), 1u);
}

TEST(Leases, FarewellHandsOutWhatWasEntered) {
  ncclUniqueId id{};
  Coordinator::instance().stamp(&id);
  const auto stamp = read_stamp(id);
  ASSERT_TRUE(stamp);
  Member first = Member::check_in(id, rank_of(0, 2));
  Member second = Member::check_in(id, rank_of(1, 2));
  std::thread other([&] { second.hear_verdict(ncclSuccess); });
  first.hear_verdict(ncclSuccess);
  other.join();
  Coordinator::instance().add_member(
      stamp->token, 0, [](uint64_t, uint64_t) { return std::vector<PlanEntry>{entry_of(10)}; });
  first.request_range(0);
  const auto range = first.wait_range();
  ASSERT_TRUE(range);
  Coordinator::instance().remove_member(stamp->token, 0);
  second.request_range(0);
  const auto late = second.wait_range();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->to, range->to);
  second.request_range(late->to);
  EXPECT_FALSE(second.wait_range());
  EXPECT_TRUE(second.is_closed());
}

TEST(Strangers, AreTurnedAway) {
  ncclUniqueId id{};
  Coordinator::instance().stamp(&id);
  const auto stamp = read_stamp(id);
  ASSERT_TRUE(stamp);
  for (const bool valid_frame : {false, true}) {
    Result<int> descriptor = connect_to(stamp->endpoint, 2000);
    ASSERT_TRUE(descriptor) << descriptor.error().text();
    if (valid_frame) {
      CheckIn forged = rank_of(0, 2);
      forged.token.fill(0x5a);
      send_message(*descriptor, MessageType::kCheckIn, encode(forged));
    } else {
      const char garbage[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
      ASSERT_GT(send(*descriptor, garbage, sizeof(garbage), MSG_NOSIGNAL), 0);
    }
    char byte = 0;
    EXPECT_LE(recv(*descriptor, &byte, 1, 0), 0) << "the coordinator answered a stranger";
    close(*descriptor);
  }
}

}  // namespace
}  // namespace braid::interposer
