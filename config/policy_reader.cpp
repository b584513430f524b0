// Reads a policy from TOML. The only file that sees toml++; what the standard library throws ends
// here.
#include <algorithm>
#include <exception>

#include "config/digest.hpp"
#include "config/policy.hpp"
#include "config/policy_names.hpp"
#include "config/safe_file.hpp"
#include "config/toml_fields.hpp"

namespace braid::config {
namespace {

constexpr size_t kLargestFile = 1 << 20;
constexpr int kMostParts = 64;
constexpr int kMostChannels = 64;  // NCCL has no more
constexpr int kMostLearnSteps = 1000000;
constexpr uint64_t kMostDeviceMemory = 1ull << 40;
// Every dot of a key opens a table inside a table, and taking those down recurses: a longer chain
// of dots in a hostile file could exhaust the stack.
constexpr int kMostDotsInLine = 100;

class PolicyReader : private TomlFields {
 public:
  explicit PolicyReader(std::string name) : TomlFields(std::move(name)) {}

  Result<Policy> read(const std::string& text) {
    if (const Status status = check_shape(text); !status) {
      return tl::unexpected<Error>(status.error());
    }
    const toml::parse_result parsed = toml::parse(std::string_view(text), std::string_view(name()));
    if (!parsed) {
      const toml::parse_error& error = parsed.error();
      return fail(place(error.source().begin), std::string(error.description()));
    }
    const toml::table& root = parsed.table();
    if (const Status status = check_schema(root); !status) {
      return tl::unexpected<Error>(status.error());
    }
    Policy policy;
    policy.path = name();
    policy.digest = digest_of(text);
    read_root(root, policy);
    if (auto error = take_error()) {
      return tl::unexpected<Error>(*std::move(error));
    }
    return policy;
  }

 private:
  Status check_shape(const std::string& text) const {
    if (text.size() > kLargestFile) {
      return fail(name(),
                  "is larger than the " + std::to_string(kLargestFile) + " bytes that are read");
    }
    int line = 1;
    int dots = 0;
    for (const char c : text) {
      if (c == '\n') {
        ++line;
        dots = 0;
      } else if (c == '.' && ++dots > kMostDotsInLine) {
        return fail(name() + ":" + std::to_string(line),
                    "has more than " + std::to_string(kMostDotsInLine) +
                        " dots in one line; expected keys that are not nested that deep");
      }
    }
    return {};
  }

  Status check_schema(const toml::table& root) const {
    const std::string reads = std::string("this version reads schema = \"") + kPolicySchema + "\"";
    const toml::node* node = root.get("schema");
    if (node == nullptr) {
      return fail(name() + ":1:1", "has no key 'schema'; " + reads);
    }
    if (!node->is_string() || node->as_string()->get() != kPolicySchema) {
      return fail(place(node->source().begin), "key 'schema' is " + describe(*node) + "; " + reads);
    }
    return {};
  }

  void read_dtypes(const toml::node& node, std::vector<std::string>& field) {
    const auto read_one = [&](const toml::node& one) {
      const char* name = nullptr;
      if (read_name(one, "dtype", kDtypeNames, name) &&
          std::find(field.begin(), field.end(), name) == field.end()) {
        field.emplace_back(name);
      }
    };
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      read_one(node);
      return;
    }
    if (list->empty()) {
      add_error(node.source(), "key 'dtype' is an empty array; expected at least one datatype");
    }
    for (const toml::node& one : *list) {
      read_one(one);
    }
  }

  Rule read_rule(const toml::table& table) {
    Rule rule;
    rule.line = static_cast<int>(table.source().begin.line);
    const toml::node* shaping = nullptr;  // a key that only a rewriting needs
    const char* shaping_key = "";
    read_table(
        table, "[[rule]]",
        {{"collective",
          [&](const toml::node& n) {
            read_name(n, "collective", kCollectiveNames, rule.collective);
          }},
         {"dtype", [&](const toml::node& n) { read_dtypes(n, rule.dtypes); }},
         {"bytes", [&](const toml::node& n) { read_interval(n, "bytes", rule.bytes); }},
         {"ranks", [&](const toml::node& n) { read_count(n, "ranks", rule.ranks); }},
         {"communicator",
          [&](const toml::node& n) { read_text(n, "communicator", rule.communicator); }},
         {"strategy",
          [&](const toml::node& n) { read_name(n, "strategy", kStrategyNames, rule.strategy); }},
         {"scheme",
          [&](const toml::node& n) { read_name(n, "scheme", kSchemeNames, rule.scheme); }},
         {"cut",
          [&](const toml::node& n) {
            shaping = &n;
            shaping_key = "cut";
            read_name(n, "cut", kCutNames, rule.cut);
          }},
         {"parts", [&](const toml::node& n) {
            shaping = &n;
            shaping_key = "parts";
            read_auto_or_int(n, "parts", kMostParts, rule.parts);
          }}});
    if (shaping != nullptr && rule.strategy == Strategy::kSerial && !table.contains("strategy")) {
      add_error(shaping->source(), std::string("key '") + shaping_key +
                                       "' means nothing without a strategy; expected strategy = "
                                       "\"decompose\" or \"fused\" in the same rule");
    }
    return rule;
  }

  TunerRule read_tuner_rule(const toml::table& table) {
    TunerRule rule;
    rule.line = static_cast<int>(table.source().begin.line);
    const auto read_collective = [&](const toml::node& n) {
      if (read_name(n, "collective", kCollectiveNames, rule.collective) &&
          (rule.collective == Collective::kAllToAll || rule.collective == Collective::kSendRecv)) {
        add_wrong(n, "collective",
                  "\"allreduce\", \"allgather\", \"reducescatter\", \"broadcast\" or \"reduce\": "
                  "NCCL asks no tuner about the others");
      }
    };
    read_table(
        table, "[[tuner.rule]]",
        {{"collective", read_collective},
         {"bytes", [&](const toml::node& n) { read_interval(n, "bytes", rule.bytes); }},
         {"ranks", [&](const toml::node& n) { read_count(n, "ranks", rule.ranks); }},
         {"nodes", [&](const toml::node& n) { read_count(n, "nodes", rule.nodes); }},
         {"algorithm",
          [&](const toml::node& n) { read_name(n, "algorithm", kAlgorithmNames, rule.algorithm); }},
         {"protocol",
          [&](const toml::node& n) { read_name(n, "protocol", kProtocolNames, rule.protocol); }},
         {"channels", [&](const toml::node& n) {
            read_auto_or_int(n, "channels", kMostChannels, rule.channels);
          }}});
    if (rule.algorithm == Algorithm::kTree && rule.collective &&
        rule.collective != Collective::kAllReduce) {
      add_wrong(
          *table.get("algorithm"), "algorithm",
          std::string("\"ring\" or \"auto\": NCCL has no tree for ") + name_of(*rule.collective));
    }
    return rule;
  }

  void read_boundaries(const toml::node& node, std::vector<uint64_t>& field) {
    const toml::array* list = node.as_array();
    bool right = list != nullptr && list->size() >= 2 && list->size() <= kMostParts + 1;
    for (size_t i = 0; right && i < list->size(); ++i) {
      const auto* number = (*list)[i].as_integer();
      right = number != nullptr &&
              (i == 0 ? number->get() == 0 : number->get() > static_cast<int64_t>(field.back()));
      if (right) {
        field.push_back(static_cast<uint64_t>(number->get()));
      }
    }
    if (!right) {
      field.clear();
      add_wrong(node, "boundaries",
                "2 to " + std::to_string(kMostParts + 1) + " growing numbers, 0 first");
    }
  }

  PlannedCollective read_planned(const toml::table& table) {
    PlannedCollective planned;
    planned.line = static_cast<int>(table.source().begin.line);
    const int errors_before = error_count();
    const char* dtype = "";
    const char* op = planned.op.c_str();
    read_table(
        table, "[[plan]]",
        {{"collective",
          [&](const toml::node& n) {
            read_name(n, "collective", kCollectiveNames, planned.collective);
          }},
         {"dtype", [&](const toml::node& n) { read_name(n, "dtype", kDtypeNames, dtype); }},
         {"op", [&](const toml::node& n) { read_name(n, "op", kOperationNames, op); }},
         {"ranks", [&](const toml::node& n) { read_number(n, "ranks", 1, planned.ranks); }},
         {"count", [&](const toml::node& n) { read_number(n, "count", 1, planned.count); }},
         {"boundaries", [&](const toml::node& n) { read_boundaries(n, planned.boundaries); }}});
    planned.dtype = dtype;
    planned.op = std::string(op);
    for (const char* key : {"collective", "dtype", "ranks", "count", "boundaries"}) {
      if (!table.contains(key)) {
        add_error(table.source(), std::string("[[plan]] has no key '") + key +
                                      "'; expected collective, dtype, ranks, count and boundaries");
      }
    }
    if (error_count() == errors_before && planned.boundaries.back() != planned.count) {
      add_error(table.get("boundaries")->source(),
                "key 'boundaries' ends at " + std::to_string(planned.boundaries.back()) +
                    "; expected the count, " + std::to_string(planned.count));
    }
    return planned;
  }

  void read_root(const toml::table& root, Policy& policy) {
    const auto read_tuner = [&](const toml::node& n) {
      const toml::table* table = n.as_table();
      if (table == nullptr) {
        add_wrong(n, "tuner", "a table [tuner] that holds [[tuner.rule]]");
        return;
      }
      read_table(*table, "[tuner]",
                 {{"rule", [&](const toml::node& list) {
                     read_list(list, "rule", "[[tuner.rule]]", policy.tuner_rules,
                               [&](const toml::table& t) { return read_tuner_rule(t); });
                   }}});
    };
    read_table(
        root, "the policy",
        {{"schema", [](const toml::node&) {}},
         {"numerics",
          [&](const toml::node& n) { read_name(n, "numerics", kNumericsNames, policy.numerics); }},
         {"max_device_memory",
          [&](const toml::node& n) {
            read_size(n, "max_device_memory", kMostDeviceMemory, policy.max_device_memory);
          }},
         {"learn_steps",
          [&](const toml::node& n) {
            read_int(n, "learn_steps", 0, kMostLearnSteps, policy.learn_steps);
          }},
         {"gpu", [&](const toml::node& n) { read_text(n, "gpu", policy.gpu); }},
         {"topology", [&](const toml::node& n) { read_text(n, "topology", policy.topology); }},
         {"rule",
          [&](const toml::node& n) {
            read_list(n, "rule", "[[rule]]", policy.rules,
                      [&](const toml::table& t) { return read_rule(t); });
          }},
         {"tuner", read_tuner},
         {"plan", [&](const toml::node& n) {
            read_list(n, "plan", "[[plan]]", policy.plan,
                      [&](const toml::table& t) { return read_planned(t); });
          }}});
  }
};

}  // namespace

Result<Policy> read_policy_text(const std::string& text, const std::string& name) {
  try {
    return PolicyReader(name).read(text);
  } catch (const std::exception& error) {
    return fail(name, std::string("could not be read: ") + error.what());
  }
}

Result<Policy> read_policy_file(const std::string& path) {
  try {
    const auto text = read_small_file(path, kLargestFile);
    if (!text) {
      return tl::unexpected<Error>(text.error());
    }
    return PolicyReader(path).read(*text);
  } catch (const std::exception& error) {
    return fail(path, std::string("could not be read: ") + error.what());
  }
}

}  // namespace braid::config
