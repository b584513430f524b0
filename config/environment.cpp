// The table of variables and the one place that reads the process's environment.
#include "config/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "config/closest_match.hpp"

namespace braid::config {
namespace {

using Parse = Status (*)(Environment&, const std::string&);

struct Row {
  EnvironmentEntry entry;
  Parse parse;
};

tl::unexpected<Error> expected(const std::string& words) { return fail("", "expected " + words); }

template <typename T>
struct Word {
  const char* name;
  T value;
};

// Sets `field` to the value of the word that `text` is.
template <typename T, size_t N>
Status parse_word(const std::string& text, const Word<T> (&words)[N], T& field) {
  std::vector<std::string> names;
  for (const Word<T>& word : words) {
    if (text == word.name) {
      field = word.value;
      return {};
    }
    names.emplace_back(word.name);
  }
  return expected(join_or(names) + suggestion(text, names));
}

Status parse_number(const std::string& text, uint64_t low, uint64_t high, uint64_t& field) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < low || value > high) {
    return expected(high == std::numeric_limits<uint64_t>::max()
                        ? "a whole number from " + std::to_string(low)
                        : "a whole number from " + std::to_string(low) + " to " +
                              std::to_string(high));
  }
  field = value;
  return {};
}

Status parse_int(const std::string& text, int low, int high, int& field) {
  uint64_t value = 0;
  const Status status =
      parse_number(text, static_cast<uint64_t>(low), static_cast<uint64_t>(high), value);
  if (status) {
    field = static_cast<int>(value);
  }
  return status;
}

Status parse_flag(const std::string& text, bool& field) {
  constexpr Word<bool> kFlag[] = {{"0", false}, {"1", true}};
  return parse_word(text, kFlag, field);
}

constexpr Word<uint32_t> kSubsystems[] = {
    {"init", kSubsysInit},     {"nccl", kSubsysNccl},           {"cublas", kSubsysCublas},
    {"ledger", kSubsysLedger}, {"agreement", kSubsysAgreement}, {"plan", kSubsysPlan},
    {"tuner", kSubsysTuner},   {"vgpu", kSubsysVgpu},           {"all", kSubsysAll}};

Status parse_subsystems(const std::string& text, uint32_t& field) {
  const bool inverted = text.front() == '^';
  uint32_t bits = 0;
  size_t at = inverted ? 1 : 0;
  while (true) {
    const size_t comma = text.find(',', at);
    uint32_t bit = 0;
    const Status status = parse_word(
        text.substr(at, comma == std::string::npos ? comma : comma - at), kSubsystems, bit);
    if (!status) {
      return status;
    }
    bits |= bit;
    if (comma == std::string::npos) {
      break;
    }
    at = comma + 1;
  }
  field = inverted ? ~bits : bits;
  return {};
}

// In the order of struct Environment.
const std::vector<Row>& rows() {
  static const auto* table = new std::vector<Row>{
      {{"BRAID_MODE", "off | observe | auto", "observe",
        "What the preload library does: nothing at all, record only, or rewrite what the policy "
        "allows."},
       [](Environment& e, const std::string& text) {
         constexpr Word<Mode> kModes[] = {
             {"off", Mode::kOff}, {"observe", Mode::kObserve}, {"auto", Mode::kAuto}};
         Status status = parse_word(text, kModes, e.mode);
         e.mode_is_set = status.has_value();
         return status;
       }},
      {{"BRAID_POLICY", "path of a TOML file", "none",
        "Policy file: which calls may be rewritten, and how."},
       [](Environment& e, const std::string& text) {
         e.policy_path = text;
         return Status{};
       }},
      {{"BRAID_FROZEN", "0 | 1", "0", "1: carry the policy out as it stands, learn nothing."},
       [](Environment& e, const std::string& text) { return parse_flag(text, e.frozen); }},
      {{"BRAID_PLAN_OUT", "path of a file", "none",
        "Where rank 0 writes the final plan, a policy to run again with BRAID_FROZEN=1."},
       [](Environment& e, const std::string& text) {
         e.plan_out = text;
         return Status{};
       }},
      {{"BRAID_TRACE_DIR", "path of a folder", "none",
        "Where each rank writes its trace file. Not set: no trace."},
       [](Environment& e, const std::string& text) {
         e.trace_dir = text;
         return Status{};
       }},
      {{"BRAID_ON_ERROR", "fail | stock", "fail",
        "A broken policy fails communicator creation with the reason, or the job runs as stock."},
       [](Environment& e, const std::string& text) {
         constexpr Word<OnError> kWords[] = {{"fail", OnError::kFail}, {"stock", OnError::kStock}};
         return parse_word(text, kWords, e.on_error);
       }},
      {{"BRAID_METRICS", "path of a file", "none",
        "Prometheus text file; .rankN or the process id goes before its .prom suffix."},
       [](Environment& e, const std::string& text) {
         e.metrics_path = text;
         return Status{};
       }},
      {{"BRAID_VERIFY", "whole number", "0",
        "N: every Nth rewritten call is run again on stock and compared (not carried out yet). 0: "
        "never."},
       [](Environment& e, const std::string& text) {
         return parse_number(text, 0, std::numeric_limits<uint64_t>::max(), e.verify_every);
       }},
      {{"BRAID_DEBUG", "none | warn | info | trace", "warn", "How much is written to stderr."},
       [](Environment& e, const std::string& text) {
         constexpr Word<DebugLevel> kLevels[] = {{"none", DebugLevel::kNone},
                                                 {"warn", DebugLevel::kWarn},
                                                 {"info", DebugLevel::kInfo},
                                                 {"trace", DebugLevel::kTrace}};
         return parse_word(text, kLevels, e.debug);
       }},
      {{"BRAID_DEBUG_SUBSYS",
        "comma list of init, nccl, cublas, ledger, agreement, plan, tuner, vgpu, all; ^ inverts",
        "all", "Which parts write info and trace lines. Warnings always appear."},
       [](Environment& e, const std::string& text) {
         return parse_subsystems(text, e.debug_subsystems);
       }},
      {{"BRAID_SUMMARY", "0 | 1", "1 under mode auto, else 0",
        "1: rank 0 prints a summary to stderr when the process ends."},
       [](Environment& e, const std::string& text) { return parse_flag(text, e.summary); }},
      {{"BRAID_VGPU_TOPOLOGY", "path of an NCCL topology XML", "none",
        "The virtual GPUs and their links."},
       [](Environment& e, const std::string& text) {
         e.vgpu_topology = text;
         return Status{};
       }},
      {{"BRAID_VGPU_SESSION", "path of a folder", "private to the process",
        "Folder that the processes of one virtual box share."},
       [](Environment& e, const std::string& text) {
         e.vgpu_session = text;
         return Status{};
       }},
      {{"BRAID_VGPU_SMS", "1 to 1024", "the GPU model's SM count",
        "SM shares a virtual GPU has for running collectives."},
       [](Environment& e, const std::string& text) {
         return parse_int(text, 1, 1024, e.vgpu_sms);
       }},
      {{"BRAID_VGPU_QUEUES", "1 to 32", "CUDA_DEVICE_MAX_CONNECTIONS, else 8",
        "Hardware queues of a virtual GPU."},
       [](Environment& e, const std::string& text) {
         return parse_int(text, 1, 32, e.vgpu_queues);
       }},
      {{"BRAID_VGPU_SEED", "whole number", "0",
        "Seed of the scheduler that picks adversarially what runs next. 0: first in, first out."},
       [](Environment& e, const std::string& text) {
         return parse_number(text, 0, std::numeric_limits<uint64_t>::max(), e.vgpu_seed);
       }},
      {{"BRAID_VGPU_COMPUTE", "on | off", "on",
        "off: kernels, GEMMs, copies and collectives touch no memory (timelines of large shapes)."},
       [](Environment& e, const std::string& text) {
         constexpr Word<bool> kWords[] = {{"on", true}, {"off", false}};
         return parse_word(text, kWords, e.vgpu_compute);
       }},
      {{"BRAID_VGPU_KERNELS", "error | skip", "error",
        "What happens to a kernel that has no host implementation."},
       [](Environment& e, const std::string& text) {
         constexpr Word<UnknownKernels> kWords[] = {{"error", UnknownKernels::kError},
                                                    {"skip", UnknownKernels::kSkip}};
         return parse_word(text, kWords, e.vgpu_kernels);
       }},
      {{"BRAID_VGPU_KERNEL_PATH", "colon list of shared libraries", "none",
        "Host implementations of kernels."},
       [](Environment& e, const std::string& text) {
         e.vgpu_kernel_path = text;
         return Status{};
       }},
      {{"BRAID_VGPU_MEMORY", "bytes, such as 24GiB", "the GPU model's memory",
        "Memory of a virtual GPU."},
       [](Environment& e, const std::string& text) -> Status {
         const auto bytes = parse_size(text);
         if (!bytes || *bytes == 0) {
           return expected("a size above 0, such as 64MiB or 24GiB");
         }
         e.vgpu_memory = *bytes;
         return {};
       }},
  };
  return *table;
}

struct Reading {
  Environment environment;
  std::optional<Error> error;  // the first wrong value
};

// Reads all that is right; a wrong value leaves its field at the default.
Reading read_all(const std::function<const char*(const char*)>& get) {
  Reading reading;
  bool summary_is_set = false;
  for (const Row& row : rows()) {
    const char* value = get(row.entry.name.c_str());
    if (value == nullptr || *value == '\0') {
      continue;  // an empty variable is one that is not set
    }
    const Status status = row.parse(reading.environment, value);
    if (!status && !reading.error) {
      reading.error =
          Error{row.entry.name, "'" + std::string(value) + "' is wrong: " + status.error().what};
    }
    summary_is_set |= status && row.entry.name == "BRAID_SUMMARY";
  }
  if (!summary_is_set) {
    reading.environment.summary = reading.environment.mode == Mode::kAuto;
  }
  return reading;
}

// Never destroyed: other threads may still log while the process ends.
const Reading& process_reading() {
  static const auto* reading =
      new Reading(read_all([](const char* name) { return std::getenv(name); }));
  return *reading;
}

}  // namespace

const std::vector<EnvironmentEntry>& environment_table() {
  static const auto* table = [] {
    auto* entries = new std::vector<EnvironmentEntry>;
    for (const Row& row : rows()) {
      entries->push_back(row.entry);
    }
    return entries;
  }();
  return *table;
}

Result<Environment> read_environment(const std::function<const char*(const char*)>& get) {
  Reading reading = read_all(get);
  if (reading.error) {
    return tl::unexpected<Error>(*std::move(reading.error));
  }
  return std::move(reading.environment);
}

std::vector<std::string> unknown_variables(const char* const* environ_block) {
  constexpr const char kPrefix[] = "BRAID_";
  std::vector<std::string> known;
  for (const Row& row : rows()) {
    known.push_back(row.entry.name);
  }
  std::vector<std::string> unknown;
  for (const char* const* variable = environ_block; variable != nullptr && *variable != nullptr;
       ++variable) {
    if (std::strncmp(*variable, kPrefix, sizeof(kPrefix) - 1) != 0) {
      continue;
    }
    const char* equals = std::strchr(*variable, '=');
    const std::string name =
        equals != nullptr ? std::string(*variable, equals) : std::string(*variable);
    bool is_known = false;
    for (const std::string& other : known) {
      is_known |= name == other;
    }
    if (!is_known) {
      unknown.push_back(name + suggestion(name, known));
    }
  }
  return unknown;
}

const Environment& environment() { return process_reading().environment; }

const std::optional<Error>& environment_error() { return process_reading().error; }

const char* foreign_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace braid::config
