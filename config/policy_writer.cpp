#include "config/policy_writer.hpp"

#include <algorithm>
#include <cstdio>

#include "config/environment.hpp"
#include "config/policy_names.hpp"
#include "config/safe_file.hpp"

namespace braid::config {
namespace {

bool is_everything(const Interval& interval) {
  const Interval all;
  return interval.low == all.low && interval.high == all.high && !interval.low_open &&
         !interval.high_open;
}

// Length of the well-formed UTF-8 sequence at `at`, 0 when it is not one (RFC 3629, section 4).
size_t utf8_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(at);
  if (first < 0x80) {
    return 1;
  }
  const unsigned second = byte(at + 1);
  if (first >= 0xc2 && first <= 0xdf && follows(at + 1)) {
    return 2;
  }
  if (first >= 0xe0 && first <= 0xef && follows(at + 1) && follows(at + 2) &&
      !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f)) {
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4 && follows(at + 1) && follows(at + 2) && follows(at + 3) &&
      !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f)) {
    return 4;
  }
  return 0;
}

constexpr const char* kReplacement = "\xef\xbf\xbd";

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    const auto c = static_cast<unsigned char>(text[at]);
    if (length == 0) {
      out += kReplacement;
    } else if (length > 1) {
      out += text.substr(at, length);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[at];
    } else if (c < 0x20 || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04X", c);
      out += escaped;
    } else {
      out += text[at];
    }
    at += length == 0 ? 1 : length;
  }
  return out + '"';
}

// Every line of `text` behind "# "; control characters, which TOML forbids, become spaces.
std::string comment(const std::string& text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += end == at ? "#" : "# ";
    for (; at < end;) {
      const size_t length = utf8_length(text, at);
      const auto c = static_cast<unsigned char>(text[at]);
      if (length == 0) {
        out += kReplacement;
      } else if (length == 1 && (c < 0x20 || c == 0x7f)) {
        out += ' ';
      } else {
        out += text.substr(at, length);
      }
      at += length == 0 ? 1 : length;
    }
    out += '\n';
    ++at;
  }
  return out;
}

void put(std::string& out, const char* key, const std::string& value) {
  out += key;
  out += " = " + value + "\n";
}

void put_interval(std::string& out, const char* key, const Interval& interval) {
  if (!is_everything(interval)) {
    put(out, key, quote(format_interval(interval)));
  }
}

std::string dtype_value(const std::vector<std::string>& dtypes) {
  if (dtypes.size() == 1) {
    return quote(dtypes.front());
  }
  std::string list = "[";
  for (size_t i = 0; i < dtypes.size(); ++i) {
    list += (i > 0 ? ", " : "") + quote(dtypes[i]);
  }
  return list + "]";
}

void write_rule(std::string& out, const Rule& rule) {
  out += "[[rule]]\n";
  if (rule.collective) {
    put(out, "collective", quote(name_of(*rule.collective)));
  }
  if (!rule.dtypes.empty()) {
    put(out, "dtype", dtype_value(rule.dtypes));
  }
  put_interval(out, "bytes", rule.bytes);
  put_interval(out, "ranks", rule.ranks);
  if (!rule.communicator.empty()) {
    put(out, "communicator", quote(rule.communicator));
  }
  put(out, "strategy", quote(name_in(kStrategyNames, rule.strategy)));
  put(out, "scheme", quote(rule.scheme));
  if (rule.strategy != Strategy::kSerial) {
    put(out, "cut", quote(name_in(kCutNames, rule.cut)));
    put(out, "parts", rule.parts == 0 ? quote("auto") : std::to_string(rule.parts));
  }
}

void write_tuner_rule(std::string& out, const TunerRule& rule) {
  out += "[[tuner.rule]]\n";
  if (rule.collective) {
    put(out, "collective", quote(name_of(*rule.collective)));
  }
  put_interval(out, "bytes", rule.bytes);
  put_interval(out, "ranks", rule.ranks);
  put_interval(out, "nodes", rule.nodes);
  put(out, "algorithm", quote(name_in(kAlgorithmNames, rule.algorithm)));
  put(out, "protocol", quote(name_in(kProtocolNames, rule.protocol)));
  put(out, "channels", rule.channels == 0 ? quote("auto") : std::to_string(rule.channels));
}

void write_planned(std::string& out, const PlannedCollective& planned) {
  out += "[[plan]]\n";
  put(out, "collective", quote(name_of(planned.collective)));
  put(out, "dtype", quote(planned.dtype));
  put(out, "op", quote(planned.op));
  put(out, "ranks", std::to_string(planned.ranks));
  put(out, "count", std::to_string(planned.count));
  std::string list;
  for (const uint64_t boundary : planned.boundaries) {
    list += (list.empty() ? "" : ", ") + std::to_string(boundary);
  }
  put(out, "boundaries", "[" + list + "]");
}

void put_comment(std::string& out, const std::vector<std::string>& comments, size_t index) {
  out += '\n';
  if (index < comments.size()) {
    out += comment(comments[index]);
  }
}

}  // namespace

std::string write_policy_text(const Policy& policy, const PolicyComments& comments) {
  std::string out = comment(comments.head);
  put(out, "schema", quote(kPolicySchema));
  put(out, "numerics", quote(name_in(kNumericsNames, policy.numerics)));
  put(out, "max_device_memory", quote(format_size(policy.max_device_memory)));
  put(out, "learn_steps", std::to_string(policy.learn_steps));
  if (!policy.gpu.empty()) {
    put(out, "gpu", quote(policy.gpu));
  }
  if (!policy.topology.empty()) {
    put(out, "topology", quote(policy.topology));
  }
  for (size_t i = 0; i < policy.rules.size(); ++i) {
    put_comment(out, comments.rules, i);
    write_rule(out, policy.rules[i]);
  }
  for (size_t i = 0; i < policy.tuner_rules.size(); ++i) {
    put_comment(out, comments.tuner_rules, i);
    write_tuner_rule(out, policy.tuner_rules[i]);
  }
  for (size_t i = 0; i < policy.plan.size(); ++i) {
    put_comment(out, comments.plan, i);
    write_planned(out, policy.plan[i]);
  }
  return out;
}

Status write_policy_file(const Policy& policy, const PolicyComments& comments,
                         const std::string& path) {
  return replace_file(path, write_policy_text(policy, comments));
}

}  // namespace braid::config
