// How a diagnosis is shown: text and JSON.
#include <fmt/format.h>

#include "cli/doctor/diagnosis.hpp"
#include "cli/format.hpp"
#include "cli/text_table.hpp"

namespace braid::cli {
namespace {

std::string string_or(const Json& value, const char* otherwise) {
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::string gpus_text(const Diagnosis& d) {
  if (!d.probe.is_object() || d.probe.at("gpus").empty()) {
    return "  none\n";
  }
  TextTable table({{"#", true}, {"name"}, {"bus id"}, {"sm"}, {"memory", true}});
  int index = 0;
  for (const Json& gpu : d.probe.at("gpus")) {
    table.add_row({std::to_string(index++), gpu.at("name"), gpu.at("bus_id"),
                   std::to_string(gpu.at("sm").get<int>()),
                   format_bytes(gpu.at("memory_bytes").get<uint64_t>())});
  }
  return table.text(2) + fmt::format("  driver {}\n", string_or(d.probe.at("driver"), "unknown"));
}

std::string libraries_text(const Diagnosis& d) {
  if (!d.probe.is_object()) {
    return "  not examined\n";
  }
  TextTable table({{"library"}, {"soname"}, {"version"}, {"file"}});
  for (const Json& row : d.probe.at("libraries")) {
    table.add_row({row.at("name"), row.at("soname"), string_or(row.at("version"), "–"),
                   string_or(row.at("path"), "not found")});
  }
  return table.text(2);
}

std::string variables_text(const Diagnosis& d) {
  std::string out;
  for (const VariableRow& row : d.variables) {
    out += fmt::format("  {}{}   [{}; default: {}]\n      {}\n", row.name,
                       row.set ? " = " + row.value : "", row.values, row.default_value, row.help);
  }
  for (const std::string& text : d.unknown_variables) {
    out += fmt::format("  warning: {}\n", text);
  }
  return out;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& d) {
  std::string out = d.topology.empty()
                        ? fmt::format("braid doctor on {}\n\n", d.host)
                        : fmt::format("braid doctor: virtual GPUs of {}\n\n", d.topology);
  out += "GPUs\n" + gpus_text(d) + "\nLibraries, as a program under braid finds them\n" +
         libraries_text(d);
  out += "\nNCCL settings in effect\n";
  TextTable settings({{"setting"}, {"value"}, {"from"}});
  for (const NcclSetting& setting : d.nccl) {
    settings.add_row({setting.name, setting.value, setting.source});
  }
  settings.add_row({"CUDA_DEVICE_MAX_CONNECTIONS",
                    d.max_connections.empty() ? "not set (8 queues)" : d.max_connections,
                    d.max_connections.empty() ? "" : "environment"});
  out += settings.text(2);
  out += "\nMachine\n";
  TextTable hints({{"what"}, {"found"}, {"advice"}});
  for (const SystemHint& hint : d.system) {
    hints.add_row({hint.name, hint.value, hint.advice});
  }
  out += hints.text(2);
  out += "\nBRAID_ variables\n" + variables_text(d);
  out += "\nVerdict\n";
  for (const Verdict& verdict : d.verdicts) {
    out += verdict.works
               ? fmt::format("  works: {} ({})\n", verdict.what, verdict.reason)
               : fmt::format("  would not work: {}, because {}\n", verdict.what, verdict.reason);
  }
  return out;
}

Json diagnosis_json(const Diagnosis& d) {
  Json document;
  document["host"] = d.host;
  document["topology"] = d.topology.empty() ? Json(nullptr) : Json(d.topology);
  const bool probed = d.probe.is_object();
  document["gpus"] = probed ? d.probe.at("gpus") : Json::array();
  document["driver"] = probed ? d.probe.at("driver") : Json(nullptr);
  document["libraries"] = probed ? d.probe.at("libraries") : Json::array();
  document["bindings"] = probed ? d.probe.at("bindings") : Json::array();
  document["tuner_plugin"] = probed ? d.probe.at("tuner") : Json(nullptr);
  document["preload"] = {{"library", d.installation.library},
                         {"error", d.probe_error.empty() ? Json(nullptr) : Json(d.probe_error)}};
  document["nccl_settings"] = Json::array();
  for (const NcclSetting& setting : d.nccl) {
    document["nccl_settings"].push_back(
        {{"name", setting.name}, {"value", setting.value}, {"source", setting.source}});
  }
  document["cuda_device_max_connections"] =
      d.max_connections.empty() ? Json(nullptr) : Json(d.max_connections);
  document["system"] = Json::array();
  for (const SystemHint& hint : d.system) {
    document["system"].push_back({{"name", hint.name},
                                  {"value", hint.value},
                                  {"concern", hint.concern},
                                  {"advice", hint.advice}});
  }
  document["environment"] = Json::array();
  for (const VariableRow& row : d.variables) {
    document["environment"].push_back({{"name", row.name},
                                       {"value", row.set ? Json(row.value) : Json(nullptr)},
                                       {"values", row.values},
                                       {"default", row.default_value},
                                       {"help", row.help}});
  }
  document["unknown_variables"] = d.unknown_variables;
  document["environment_error"] =
      d.environment_error.empty() ? Json(nullptr) : Json(d.environment_error);
  document["verdicts"] = Json::array();
  for (const Verdict& verdict : d.verdicts) {
    document["verdicts"].push_back(
        {{"what", verdict.what}, {"works", verdict.works}, {"reason", verdict.reason}});
  }
  return document;
}

}  // namespace braid::cli
