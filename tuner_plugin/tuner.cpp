#include "tuner_plugin/tuner.hpp"

#include <algorithm>
#include <cfloat>
#include <cstdarg>
#include <cstdio>

#include "config/diagnostics.hpp"

namespace braid::tuner {
namespace {

constexpr float kCheapest = 0.0f;
// NCCL takes the first of equal costs, so an earlier rival that costs nothing must cost a little.
constexpr float kAlmostNothing = FLT_MIN;

// NCCL may run an entry unless its cost is negative; NaN and infinity are nobody's estimate.
bool is_usable(float cost) { return cost >= 0.0f && cost <= FLT_MAX; }

struct Entry {
  int algorithm = abi::kAlgorithmUndefined;
  int protocol = abi::kProtocolUndefined;

  bool exists() const { return algorithm >= 0; }
};

// The cheapest usable entry among those the rule leaves open, found in NCCL's order.
Entry find_cheapest(const Choice& choice, abi::Function function, const float* table,
                    int algorithms, int protocols) {
  const int first_row = std::max(choice.algorithm, 0);
  const int last_row = choice.algorithm < 0 ? algorithms - 1 : choice.algorithm;
  const int first_column = std::max(choice.protocol, 0);
  const int last_column = choice.protocol < 0 ? protocols - 1 : choice.protocol;
  Entry best;
  if (last_row >= algorithms || last_column >= protocols) {
    return best;
  }
  float best_cost = 0.0f;
  for (int algorithm = first_row; algorithm <= last_row; ++algorithm) {
    // Of the algorithms that rules cannot name, whatever NCCL offers exists.
    const bool is_named = algorithm <= abi::kAlgorithmRing;
    for (int protocol = first_column; protocol <= last_column; ++protocol) {
      const float cost = table[algorithm * protocols + protocol];
      if (is_usable(cost) && (!best.exists() || cost < best_cost) &&
          (!is_named || has_kernel(function, algorithm, protocol))) {
        best = {algorithm, protocol};
        best_cost = cost;
      }
    }
  }
  return best;
}

void make_cheapest(const Entry& entry, float* table, int protocols) {
  const int chosen = entry.algorithm * protocols + entry.protocol;
  for (int i = 0; i < chosen; ++i) {
    if (table[i] == kCheapest) {
      table[i] = kAlmostNothing;
    }
  }
  table[chosen] = kCheapest;
}

void log_line(abi::Logger logger, abi::LogLevel level, const char* text) {
  if (logger != nullptr) {
    logger(level, abi::kLogInit | abi::kLogTuning, "tuner_plugin/tuner.cpp", 0, "BRAID/Tuner : %s",
           text);
  } else if (level == abi::kLogWarn) {
    BRAID_WARN(Tuner, "Tuner", "%s", text);
  } else {
    BRAID_INFO(Tuner, "Tuner", "%s", text);
  }
}

}  // namespace

Settings make_settings(const config::Environment& environment,
                       const std::optional<Error>& environment_error, bool stock_choice_is_set) {
  Settings settings;
  settings.fail_on_error = environment.on_error == config::OnError::kFail;
  settings.stock_choice_is_set = stock_choice_is_set;
  if (environment.policy_path.empty()) {
    settings.idle_reason = "BRAID_POLICY is not set";
    return settings;
  }
  if (environment_error) {
    settings.error = *environment_error;
    return settings;
  }
  if (environment.mode_is_set && environment.mode != config::Mode::kAuto) {
    settings.idle_reason =
        environment.mode == config::Mode::kOff ? "BRAID_MODE is off" : "BRAID_MODE is observe";
    return settings;
  }
  auto policy = config::read_policy_file(environment.policy_path);
  if (!policy) {
    settings.error = std::move(policy.error());
    return settings;
  }
  settings.policy = *std::move(policy);
  if (settings.policy.tuner_rules.empty()) {
    settings.idle_reason = environment.policy_path + " has no [[tuner.rule]]";
  }
  return settings;
}

const Settings& process_settings() {
  // Never destroyed: a communicator may be made while the process ends.
  static const auto* settings =
      new Settings(make_settings(config::environment(), config::environment_error(),
                                 config::foreign_variable("NCCL_ALGO") != nullptr ||
                                     config::foreign_variable("NCCL_PROTO") != nullptr));
  return *settings;
}

Tuner::Tuner(const Settings& settings, size_t ranks, size_t nodes, abi::Logger logger)
    : logger_(logger), stock_choice_is_set_(settings.stock_choice_is_set) {
  if (settings.error) {
    say(abi::kLogWarn, "%s; going on as stock NCCL because BRAID_ON_ERROR=stock",
        settings.error->text().c_str());
    return;
  }
  if (!settings.idle_reason.empty()) {
    say(abi::kLogInfo, "changes nothing: %s", settings.idle_reason.c_str());
    return;
  }
  choices_ = ChoiceTable(settings.policy.tuner_rules, ranks, nodes);
  const char* path = settings.policy.path.c_str();
  const auto digest = static_cast<unsigned long long>(settings.policy.digest);
  if (choices_.is_empty()) {
    say(abi::kLogInfo, "changes nothing: no rule of %s (digest %016llx) is for %zu ranks on %zu %s",
        path, digest, ranks, nodes, nodes == 1 ? "node" : "nodes");
    return;
  }
  say(abi::kLogInfo, "follows %s (digest %016llx) for %zu ranks on %zu %s%s", path, digest, ranks,
      nodes, nodes == 1 ? "node" : "nodes",
      stock_choice_is_set_ ? "; what NCCL_ALGO and NCCL_PROTO exclude stays excluded" : "");
}

void Tuner::say(abi::LogLevel level, const char* format, ...) const {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  log_line(logger_, level, text);
}

void Tuner::step_aside(Reason reason) {
  static constexpr const char* kTexts[] = {
      "NCCL rules out what the policy asks for (not supported here, or NCCL_ALGO or NCCL_PROTO "
      "excludes it)",
      "this NCCL takes one algorithm and protocol, and the rule leaves one of them to NCCL",
      "this NCCL does not say whether LL128 is safe here", "NCCL_ALGO or NCCL_PROTO is set"};
  const uint32_t bit = 1u << reason;
  if ((said_.load(std::memory_order_relaxed) & bit) == 0 && (said_.fetch_or(bit) & bit) == 0) {
    say(abi::kLogInfo, "steps aside: %s", kTexts[reason]);
  }
}

void Tuner::choose(abi::Function function, size_t bytes, float* table, int algorithms,
                   int protocols, int* channels) {
  const Choice* choice = choices_.find(function, bytes);
  if (choice == nullptr || table == nullptr || algorithms <= 0 || protocols <= 0) {
    return;
  }
  const Entry entry = find_cheapest(*choice, function, table, algorithms, protocols);
  if (!entry.exists()) {
    step_aside(kIgnoredEntry);
    return;
  }
  if (choice->algorithm >= 0 || choice->protocol >= 0) {
    make_cheapest(entry, table, protocols);
  }
  // NCCL limits the number for rings and trees to the channels it has; for the others it would use
  // any number unchecked.
  if (choice->channels > 0 && channels != nullptr && entry.algorithm <= abi::kAlgorithmRing) {
    *channels = choice->channels;
  }
}

void Tuner::choose_without_table(abi::Function function, size_t bytes, int* algorithm,
                                 int* protocol, int* channels) {
  const Choice* choice = choices_.find(function, bytes);
  if (choice == nullptr || algorithm == nullptr || protocol == nullptr) {
    return;
  }
  if (stock_choice_is_set_) {
    step_aside(kStockChoice);
  } else if (choice->algorithm < 0 || choice->protocol < 0) {
    step_aside(kNeedsTable);
  } else if (!has_kernel(function, choice->algorithm, choice->protocol)) {
    step_aside(kIgnoredEntry);
  } else if (choice->protocol == abi::kProtocolLl128) {
    step_aside(kLl128Unknown);
  } else {
    *algorithm = choice->algorithm;
    *protocol = choice->protocol;
    if (choice->channels > 0 && channels != nullptr) {
      *channels = choice->channels;
    }
  }
}

Result<std::unique_ptr<Tuner>> make_tuner(const Settings& settings, size_t ranks, size_t nodes,
                                          abi::Logger logger) {
  if (settings.error && settings.fail_on_error) {
    log_line(logger, abi::kLogWarn,
             ("the policy cannot be used: " + settings.error->text() +
              " (BRAID_ON_ERROR=stock goes on without it)")
                 .c_str());
    return tl::unexpected<Error>(*settings.error);
  }
  return std::make_unique<Tuner>(settings, ranks, nodes, logger);
}

}  // namespace braid::tuner
