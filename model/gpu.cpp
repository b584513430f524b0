#include "model/gpu.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "model/gpu_table.hpp"

namespace braid::model {
namespace {

using trace::ElementType;

/// Reads the keys of one [[gpu]] table; the first fault is kept.
class EntryReader {
 public:
  EntryReader(const toml::table& entry, const toml::table* defaults, const std::string& path)
      : entry_(entry), defaults_(defaults), path_(path) {}

  double number(const char* key, double low, double high) {
    const toml::node* node = find(key);
    const std::optional<double> value = node ? node->value<double>() : std::nullopt;
    if (!value || !(*value >= low && *value <= high)) {
      fault(node, std::string(key) + " is missing or wrong; expected a number from " + format(low) +
                      " to " + format(high));
      return low;
    }
    return *value;
  }

  std::string text(const char* key) {
    const toml::node* node = find(key);
    const std::optional<std::string> value =
        node ? node->value<std::string>() : std::optional<std::string>();
    if (!value || value->empty()) {
      fault(node, std::string(key) + " is missing or empty; expected a string");
      return {};
    }
    return *value;
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> values;
    const toml::node* node = find(key);
    const toml::array* array = node ? node->as_array() : nullptr;
    if (!array) {
      fault(node, std::string(key) + " is missing; expected a list of strings");
      return values;
    }
    for (const toml::node& item : *array) {
      if (std::optional<std::string> value = item.value<std::string>()) {
        values.push_back(*value);
      } else {
        fault(&item, std::string(key) + " holds something else than a string");
      }
    }
    return values;
  }

  void refuse_unknown_keys() {
    for (auto&& [key, node] : entry_) {
      if (!known_.contains(std::string(key.str()))) {
        fault(&node, "unknown key '" + std::string(key.str()) + "'");
      }
    }
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  const toml::node* find(const char* key) {
    known_.insert(key);
    const toml::node* node = entry_.get(key);
    return node || !defaults_ ? node : defaults_->get(key);
  }

  void fault(const toml::node* node, std::string what) {
    if (!error_) {
      const auto line = (node ? node->source() : entry_.source()).begin.line;
      error_ = Error{path_ + ":" + std::to_string(line), std::move(what)};
    }
  }

  static std::string format(double value) {
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (!digits.empty() && digits.back() == '.') {
      digits.pop_back();
    }
    return digits;
  }

  const toml::table& entry_;
  const toml::table* defaults_;
  const std::string& path_;
  std::set<std::string> known_;
  std::optional<Error> error_;
};

/// "NVIDIA RTX A6000" and "nvidia-rtx_a6000" compare equal.
std::string normalise(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c != ' ' && c != '-' && c != '_') {
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  return out;
}

}  // namespace

double GpuModel::peak_tflops(ElementType type) const {
  const auto or_fp32 = [this](double peak) { return peak > 0 ? peak : fp32_tflops; };
  switch (type) {
    case ElementType::kFp64:
      return or_fp32(fp64_tflops);
    case ElementType::kTf32:
      return or_fp32(tf32_tflops);
    case ElementType::kBf16:
      return or_fp32(bf16_tflops);
    case ElementType::kFp16:
    case ElementType::kFp8E4m3:
    case ElementType::kFp8E5m2:
    case ElementType::kInt8:
    case ElementType::kUint8:
      return or_fp32(fp16_tflops);
    default:
      return fp32_tflops;
  }
}

Result<std::vector<GpuModel>> read_gpu_table(const std::string& text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    return fail(path + ":" + std::to_string(parsed.error().source().begin.line),
                std::string(parsed.error().description()));
  }
  const toml::table& root = parsed.table();
  const toml::array* entries = root["gpu"].as_array();
  if (!entries || entries->empty()) {
    return fail(path, "has no [[gpu]] table");
  }
  std::vector<GpuModel> models;
  for (const toml::node& node : *entries) {
    const toml::table* entry = node.as_table();
    if (!entry) {
      return fail(path + ":" + std::to_string(node.source().begin.line),
                  "expected a [[gpu]] table");
    }
    EntryReader reader(*entry, root["defaults"].as_table(), path);
    GpuModel gpu;
    gpu.name = reader.text("name");
    gpu.aliases = reader.texts("aliases");
    gpu.compute_capability = static_cast<int>(reader.number("compute_capability", 50, 199));
    gpu.sm_count = static_cast<int>(reader.number("sm_count", 1, 1024));
    gpu.memory_gib = reader.number("memory_gib", 1, 4096);
    gpu.memory_gbps = reader.number("memory_gbps", 1, 1e5);
    gpu.fp64_tflops = reader.number("fp64_tflops", 0, 1e5);
    gpu.fp32_tflops = reader.number("fp32_tflops", 0.1, 1e5);
    gpu.tf32_tflops = reader.number("tf32_tflops", 0, 1e5);
    gpu.fp16_tflops = reader.number("fp16_tflops", 0, 1e5);
    gpu.bf16_tflops = reader.number("bf16_tflops", 0, 1e5);
    gpu.sustained_fraction = reader.number("sustained_fraction", 0.05, 1);
    gpu.launch_us = reader.number("launch_us", 0, 1000);
    gpu.collective_launch_us = reader.number("collective_launch_us", 0, 1000);
    gpu.kernel_start_us = reader.number("kernel_start_us", 0, 1000);
    gpu.source = reader.text("source");
    reader.refuse_unknown_keys();
    if (reader.error()) {
      return tl::unexpected(*reader.error());
    }
    models.push_back(std::move(gpu));
  }
  return models;
}

const std::vector<GpuModel>& gpu_models() {
  // A fault in the compiled-in text is caught by a test; here it gives an empty table.
  static const std::vector<GpuModel> models =
      read_gpu_table(kGpuTable, "config/gpus.toml").value_or(std::vector<GpuModel>{});
  return models;
}

Result<GpuModel> find_gpu_model(const std::string& name) {
  const std::string wanted = normalise(name);
  std::string known;
  for (const GpuModel& gpu : gpu_models()) {
    if (normalise(gpu.name) == wanted ||
        std::any_of(gpu.aliases.begin(), gpu.aliases.end(),
                    [&](const std::string& alias) { return normalise(alias) == wanted; })) {
      return gpu;
    }
    known += (known.empty() ? "" : ", ") + gpu.name;
  }
  return fail("", "unknown GPU model '" + name + "'; known are " + known);
}

std::vector<const GpuModel*> gpu_models_with_capability(int compute_capability) {
  std::vector<const GpuModel*> found;
  for (const GpuModel& gpu : gpu_models()) {
    if (gpu.compute_capability == compute_capability) {
      found.push_back(&gpu);
    }
  }
  return found;
}

}  // namespace braid::model
