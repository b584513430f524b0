// Every function, datatype, operator, in and out of place, odd and zero counts, against a reference
// whose values are exact in every order.
#include <array>

#include "nccl_test_support.hpp"
#include "vgpu/nccl/number_formats.hpp"
#include "vgpu/nccl/reduction.hpp"

namespace braid::vgpu::nccl::testing {
namespace {

constexpr std::array<size_t, 6> kCounts = {0, 1, 3, 17, 1001, 70001};

/// Writes small whole numbers in any datatype and reads them back.
void store(ncclDataType_t type, void* memory, size_t index, double value) {
  const auto put = [&](auto converted) {
    std::memcpy(static_cast<std::byte*>(memory) + index * sizeof(converted), &converted,
                sizeof(converted));
  };
  switch (type) {
    case ncclInt8:
      return put(static_cast<int8_t>(value));
    case ncclUint8:
      return put(static_cast<uint8_t>(value));
    case ncclInt32:
      return put(static_cast<int32_t>(value));
    case ncclUint32:
      return put(static_cast<uint32_t>(value));
    case ncclInt64:
      return put(static_cast<int64_t>(value));
    case ncclUint64:
      return put(static_cast<uint64_t>(value));
    case ncclFloat16:
      return put(Half::narrow(static_cast<float>(value)));
    case ncclFloat32:
      return put(static_cast<float>(value));
    case ncclFloat64:
      return put(value);
    case ncclBfloat16:
      return put(BFloat16::narrow(static_cast<float>(value)));
    case ncclFloat8e4m3:
      return put(Float8E4M3::narrow(static_cast<float>(value)));
    default:
      return put(Float8E5M2::narrow(static_cast<float>(value)));
  }
}

/// What rank `rank` puts at element `index`: 1 or 2, so that sums and products of four stay exact
/// in eight bits.
double input(int rank, size_t index) {
  const auto r = static_cast<size_t>(rank);
  return static_cast<double>(1 + (index + 3 * index * r + r) % 2);
}

double reduced(ncclRedOp_t op, bool integer, int ranks, size_t index) {
  double result = input(0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = input(rank, index);
    switch (op) {
      case ncclProd:
        result *= next;
        break;
      case ncclMax:
        result = std::max(result, next);
        break;
      case ncclMin:
        result = std::min(result, next);
        break;
      default:
        result += next;
    }
  }
  if (op == ncclAvg) {
    result /= ranks;
    result = integer ? std::floor(result) : result;
  }
  return result;
}

/// The bytes expected at a buffer of `count` elements.
std::vector<std::byte> expected(ncclDataType_t type, size_t count,
                                const std::function<double(size_t)>& value) {
  std::vector<std::byte> bytes(count * bytes_of(type));
  for (size_t i = 0; i < count; ++i) {
    store(type, bytes.data(), i, value(i));
  }
  return bytes;
}

void fill(ncclDataType_t type, void* memory, size_t count,
          const std::function<double(size_t)>& value) {
  const auto bytes = expected(type, count, value);
  if (!bytes.empty()) {
    std::memcpy(memory, bytes.data(), bytes.size());
  }
}

::testing::AssertionResult holds(const void* memory, const std::vector<std::byte>& bytes) {
  if (bytes.empty() || std::memcmp(memory, bytes.data(), bytes.size()) == 0) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "the buffer differs from the reference";
}

class NcclCollectives : public ::testing::TestWithParam<std::tuple<int, ncclDataType_t>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  ncclDataType_t type() const { return std::get<1>(GetParam()); }
  bool integer() const { return type() < ncclFloat16; }

  /// Calls `body` on every rank for every count and both placements.
  void run(const std::function<void(Rank&, size_t count, bool in_place)>& body) {
    run_ranks(ranks(), [&](Rank& rank) {
      for (const size_t count : kCounts) {
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE("rank " + std::to_string(rank.rank) + " count " + std::to_string(count) +
                       (in_place ? " in place" : " out of place"));
          body(rank, count, in_place);
        }
      }
    });
  }
};

TEST_P(NcclCollectives, AllReduce) {
  run([&](Rank& rank, size_t count, bool in_place) {
    const size_t bytes = count * bytes_of(type());
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
      DeviceBuffer send(bytes), receive(bytes);
      fill(type(), send.data(), count, [&](size_t i) { return input(rank.rank, i); });
      void* target = in_place ? send.data() : receive.data();
      ASSERT_NCCL(ncclAllReduce(send.data(), target, count, type(), op, rank.comm, rank.stream));
      rank.synchronize();
      EXPECT_TRUE(holds(
          target,
          expected(type(), count, [&](size_t i) { return reduced(op, integer(), ranks(), i); })))
          << "operator " << op;
    }
  });
}

TEST_P(NcclCollectives, ReduceScatter) {
  run([&](Rank& rank, size_t count, bool in_place) {
    const size_t bytes = count * bytes_of(type());
    const size_t whole = count * static_cast<size_t>(ranks());
    DeviceBuffer send(bytes * static_cast<size_t>(ranks())), receive(bytes);
    fill(type(), send.data(), whole, [&](size_t i) { return input(rank.rank, i); });
    const size_t begin = static_cast<size_t>(rank.rank) * count;
    void* target = in_place ? send.as<std::byte>() + begin * bytes_of(type()) : receive.data();
    ASSERT_NCCL(
        ncclReduceScatter(send.data(), target, count, type(), ncclSum, rank.comm, rank.stream));
    rank.synchronize();
    EXPECT_TRUE(holds(target, expected(type(), count, [&](size_t i) {
                        return reduced(ncclSum, integer(), ranks(), begin + i);
                      })));
  });
}

TEST_P(NcclCollectives, AllGather) {
  run([&](Rank& rank, size_t count, bool in_place) {
    const size_t bytes = count * bytes_of(type());
    DeviceBuffer send(bytes), receive(bytes * static_cast<size_t>(ranks()));
    std::byte* own = receive.as<std::byte>() + static_cast<size_t>(rank.rank) * bytes;
    void* source = in_place ? static_cast<void*>(own) : send.data();
    fill(type(), source, count, [&](size_t i) { return input(rank.rank, i); });
    ASSERT_NCCL(ncclAllGather(source, receive.data(), count, type(), rank.comm, rank.stream));
    rank.synchronize();
    for (int from = 0; from < ranks(); ++from) {
      EXPECT_TRUE(holds(receive.as<std::byte>() + static_cast<size_t>(from) * bytes,
                        expected(type(), count, [&](size_t i) { return input(from, i); })));
    }
  });
}

TEST_P(NcclCollectives, ReduceAndBroadcast) {
  run([&](Rank& rank, size_t count, bool in_place) {
    const size_t bytes = count * bytes_of(type());
    const int root = ranks() - 1;
    DeviceBuffer send(bytes), receive(bytes);
    fill(type(), send.data(), count, [&](size_t i) { return input(rank.rank, i); });
    void* target = in_place ? send.data() : receive.data();
    void* at_root = rank.rank == root ? target : nullptr;
    ASSERT_NCCL(
        ncclReduce(send.data(), at_root, count, type(), ncclMax, root, rank.comm, rank.stream));
    rank.synchronize();
    if (rank.rank == root) {
      EXPECT_TRUE(holds(target, expected(type(), count, [&](size_t i) {
                          return reduced(ncclMax, integer(), ranks(), i);
                        })));
    }
    fill(type(), send.data(), count, [&](size_t i) { return input(rank.rank, i); });
    if (in_place) {
      ASSERT_NCCL(ncclBcast(send.data(), count, type(), root, rank.comm, rank.stream));
    } else {
      const void* source = rank.rank == root ? send.data() : nullptr;
      ASSERT_NCCL(ncclBroadcast(source, target, count, type(), root, rank.comm, rank.stream));
    }
    rank.synchronize();
    EXPECT_TRUE(holds(target, expected(type(), count, [&](size_t i) { return input(root, i); })));
  });
}

TEST_P(NcclCollectives, AlltoAllGatherAndScatter) {
  run([&](Rank& rank, size_t count, bool) {
    const size_t bytes = count * bytes_of(type());
    const size_t n = static_cast<size_t>(ranks());
    DeviceBuffer send(bytes * n), receive(bytes * n);
    fill(type(), send.data(), count * n, [&](size_t i) { return input(rank.rank, i); });
    ASSERT_NCCL(ncclAlltoAll(send.data(), receive.data(), count, type(), rank.comm, rank.stream));
    rank.synchronize();
    for (size_t from = 0; from < n; ++from) {
      EXPECT_TRUE(
          holds(receive.as<std::byte>() + from * bytes, expected(type(), count, [&](size_t i) {
                  return input(static_cast<int>(from), static_cast<size_t>(rank.rank) * count + i);
                })));
    }
    ASSERT_NCCL(ncclGather(send.data(), receive.data(), count, type(), 0, rank.comm, rank.stream));
    rank.synchronize();
    for (size_t from = 0; from < n && rank.rank == 0; ++from) {
      EXPECT_TRUE(holds(
          receive.as<std::byte>() + from * bytes,
          expected(type(), count, [&](size_t i) { return input(static_cast<int>(from), i); })));
    }
    const int root = ranks() - 1;
    ASSERT_NCCL(
        ncclScatter(send.data(), receive.data(), count, type(), root, rank.comm, rank.stream));
    rank.synchronize();
    EXPECT_TRUE(holds(receive.data(), expected(type(), count, [&](size_t i) {
                        return input(root, static_cast<size_t>(rank.rank) * count + i);
                      })));
  });
}

TEST_P(NcclCollectives, PreMultipliedSum) {
  run([&](Rank& rank, size_t count, bool in_place) {
    const size_t bytes = count * bytes_of(type());
    for (const bool on_device : {false, true}) {
      DeviceBuffer send(bytes), receive(bytes), scalar(8);
      uint64_t two = 0;
      store(type(), &two, 0, 2);
      std::memcpy(scalar.data(), &two, sizeof(two));
      ncclRedOp_t op;
      ASSERT_NCCL(ncclRedOpCreatePreMulSum(&op, on_device ? scalar.data() : &two, type(),
                                           on_device ? ncclScalarDevice : ncclScalarHostImmediate,
                                           rank.comm));
      two = 0;  // the host's value was read at once
      fill(type(), send.data(), count, [&](size_t i) { return input(rank.rank, i); });
      void* target = in_place ? send.data() : receive.data();
      ASSERT_NCCL(ncclAllReduce(send.data(), target, count, type(), op, rank.comm, rank.stream));
      EXPECT_NCCL(ncclRedOpDestroy(op, rank.comm));
      rank.synchronize();
      EXPECT_TRUE(holds(target, expected(type(), count, [&](size_t i) {
                          return 2 * reduced(ncclSum, integer(), ranks(), i);
                        })));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, NcclCollectives,
    ::testing::Combine(::testing::Values(1, 2, 4),
                       ::testing::Values(ncclInt8, ncclUint8, ncclInt32, ncclUint32, ncclInt64,
                                         ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64,
                                         ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2)),
    [](const auto& info) {
      return std::string(short_name_of(std::get<1>(info.param))) + "_" +
             std::to_string(std::get<0>(info.param)) + "ranks";
    });

}  // namespace
}  // namespace braid::vgpu::nccl::testing
