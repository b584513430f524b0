// What a policy file says, as typed values. config/policy_reader.cpp reads it from TOML,
// config/policy_writer.hpp writes it, config/policy_names.hpp has the words it may use.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::config {

/// Half-open or closed interval of unsigned numbers, written "[1MiB, inf)".
struct Interval {
  uint64_t low = 0;
  uint64_t high = std::numeric_limits<uint64_t>::max();
  bool low_open = false;
  bool high_open = false;  // "inf" as upper end contains everything whatever the bracket

  bool contains(uint64_t v) const {
    return (low_open ? v > low : v >= low) && (high_open ? v < high : v <= high);
  }
};

/// Parses "[1MiB, inf)", "(0, 4096]", "[64KiB, 64KiB]". Sizes as in parse_size; "inf" only as upper
/// end. An interval without a number in it is an error.
Result<Interval> parse_interval(const std::string& text);

/// What parse_interval reads back to the same numbers.
std::string format_interval(const Interval& interval);

/// First and last number of an interval, both inside.
struct Bounds {
  uint64_t first = 0;
  uint64_t last = 0;
};

/// The interval with both ends inside, or none when no number lies in it.
std::optional<Bounds> inclusive_bounds(const Interval& interval);

enum class Numerics { kExact, kReordered, kLossy };
enum class Collective : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv,
};
constexpr int kCollectiveCount = 7;
const char* name_of(Collective c);  // "allreduce", "allgather", …
std::optional<Collective> collective_from(const std::string& name);

enum class Strategy : uint8_t { kSerial, kDecompose, kFused };
enum class Cut : uint8_t { kEqual, kGeometric, kWave };

/// A rule of the [[rule]] list. A call is compared with each in file order; the first match wins.
/// Everything it matches on is known to all ranks alike (design, rule 2): the collective, its bytes
/// (nccl-tests' size), datatype and number of ranks.
struct Rule {
  std::optional<Collective> collective;  // absent: any
  std::vector<std::string> dtypes;       // "bf16", "fp32", …; empty: any
  Interval bytes;
  Interval ranks;
  std::string communicator;  // name given in ncclConfig_t.commName; empty: any

  Strategy strategy = Strategy::kSerial;
  std::string scheme = "stock";
  Cut cut = Cut::kEqual;
  int parts = 0;  // 0: "auto", the closed form decides; else 1..64

  int line = 0;  // in the policy file, for messages
};

enum class Algorithm : int8_t { kAuto = -1, kTree = 0, kRing = 1 };
enum class Protocol : int8_t { kAuto = -1, kLl = 0, kLl128 = 1, kSimple = 2 };

/// A rule of [[tuner.rule]]: what the NCCL tuner plugin answers. First match wins.
struct TunerRule {
  std::optional<Collective> collective;
  Interval bytes;
  Interval ranks;
  Interval nodes;
  Algorithm algorithm = Algorithm::kAuto;
  Protocol protocol = Protocol::kAuto;
  int channels = 0;  // 0: leave NCCL's number
  int line = 0;
};

/// An entry of [[plan]]: a collective that was made in parts in an earlier run. `run` writes them
/// at its end and `--frozen` replays them without learning.
struct PlannedCollective {
  Collective collective = Collective::kAllReduce;
  std::string dtype;       // "bf16", …
  std::string op = "sum";  // sum, prod, max, min, avg
  uint64_t ranks = 0;
  uint64_t count = 0;                // elements, as passed to the call
  std::vector<uint64_t> boundaries;  // elements; 0 first, `count` last, strictly growing
  int line = 0;
};

/// A whole policy file (schema version 1).
struct Policy {
  std::string path;     // "" when built in
  uint64_t digest = 0;  // of the file's bytes; ranks compare it
  Numerics numerics = Numerics::kReordered;
  uint64_t max_device_memory = 256ull << 20;
  int learn_steps = 64;
  std::string gpu;       // GPU model the closed form uses; "" = by device name
  std::string topology;  // topology file the closed form uses; "" = none
  std::vector<Rule> rules;
  std::vector<TunerRule> tuner_rules;
  std::vector<PlannedCollective> plan;  // carried out under BRAID_FROZEN alone
};

/// Reads a policy file. Unknown keys, wrong types and values out of range are errors whose `where`
/// is "file:line:column" and whose text suggests the nearest known key.
Result<Policy> read_policy_file(const std::string& path);

/// The same from text; `name` stands for the file in messages.
Result<Policy> read_policy_text(const std::string& text, const std::string& name);

/// First rule that matches, or nullptr (then: stock).
const Rule* find_rule(const Policy& policy, Collective collective, const std::string& dtype,
                      uint64_t bytes, uint64_t ranks, const std::string& communicator);
const TunerRule* find_tuner_rule(const Policy& policy, Collective collective, uint64_t bytes,
                                 uint64_t ranks, uint64_t nodes);

}  // namespace braid::config
