#include "cli/doctor/diagnosis.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/launch/scratch_folder.hpp"
#include "config/environment.hpp"

namespace braid::cli {
namespace {

std::string host_name() {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

/// A library's row of the probe, by label.
const Json* library_row(const Json& probe, const std::string& label) {
  if (!probe.is_object()) {
    return nullptr;
  }
  for (const Json& row : probe.at("libraries")) {
    if (row.at("name") == label) {
      return &row;
    }
  }
  return nullptr;
}

bool has_library(const Json& probe, const std::string& label) {
  const Json* row = library_row(probe, label);
  return row != nullptr && !row->at("path").is_null();
}

void read_variables(const EnvironmentBlock& environment, Diagnosis* found) {
  for (const config::EnvironmentEntry& entry : config::environment_table()) {
    const auto value = environment.get(entry.name);
    found->variables.push_back({entry.name, entry.values, entry.default_value, entry.help,
                                value.value_or(""), value.has_value()});
  }
  const std::vector<std::string> entries = environment.entries();
  std::vector<const char*> block;
  for (const std::string& entry : entries) {
    block.push_back(entry.c_str());
  }
  block.push_back(nullptr);
  found->unknown_variables = config::unknown_variables(block.data());
  const auto checked = config::read_environment([&](const char* name) -> const char* {
    const auto it = environment.values().find(name);
    return it == environment.values().end() ? nullptr : it->second.c_str();
  });
  if (!checked) {
    found->environment_error = checked.error().text();
  }
}

void run_probes(const EnvironmentBlock& environment, Diagnosis* found) {
  EnvironmentBlock probed = environment;
  ScratchFolder session;
  if (!found->topology.empty()) {
    auto made = ScratchFolder::make(session_parent(environment.get_or("TMPDIR", "")), "braid-vgpu");
    if (!made) {
      found->probe_error = made.error().text();
      return;
    }
    session = std::move(*made);
    probed.prepend("LD_LIBRARY_PATH", found->installation.vgpu_folder);
    probed.set("BRAID_VGPU_TOPOLOGY", found->topology);
    probed.set("BRAID_VGPU_SESSION", session.path());
  }
  const auto plain =
      probe_process(found->installation.program, found->installation.tuner_plugin, probed);
  if (!plain) {
    found->plain_error = plain.error().text();
  }
  if (found->installation.library.empty()) {
    found->probe_error = missing_file(found->installation, "libbraid.so").text();
    found->probe = plain ? *plain : Json();
    return;
  }
  probed.prepend("LD_PRELOAD", found->installation.library);
  probed.set("BRAID_MODE", "observe");
  const auto preloaded =
      probe_process(found->installation.program, found->installation.tuner_plugin, probed);
  if (preloaded) {
    found->probe = *preloaded;
  } else {
    found->probe_error = preloaded.error().text();
    found->probe = plain ? *plain : Json();
  }
}

Verdict preload_verdict(const Diagnosis& found) {
  Verdict verdict{"the preload (braid run, braid observe)", false, ""};
  if (!found.probe_error.empty()) {
    verdict.reason = found.probe_error;
    return verdict;
  }
  for (const Json& row : found.probe.at("bindings")) {
    std::error_code error;
    const bool ours = !row.at("library").is_null() &&
                      std::filesystem::equivalent(row.at("library").get<std::string>(),
                                                  found.installation.library, error);
    if (!ours) {
      verdict.reason = fmt::format(
          "{} binds to {} instead of libbraid.so", row.at("symbol").get<std::string>(),
          row.at("library").is_null() ? "nothing" : row.at("library").get<std::string>());
      return verdict;
    }
  }
  verdict.works = true;
  verdict.reason = "NCCL and cuBLAS calls of dynamically linked programs reach libbraid.so";
  return verdict;
}

Verdict gpu_verdict(const Diagnosis& found) {
  const bool is_virtual = !found.topology.empty();
  Verdict verdict{is_virtual ? "jobs on these virtual GPUs" : "jobs on this machine's GPUs", false,
                  ""};
  if (is_virtual && found.installation.vgpu_folder.empty()) {
    verdict.reason = missing_file(found.installation, "vgpu/").text();
    return verdict;
  }
  if (!found.probe.is_object()) {
    verdict.reason = found.plain_error.empty() ? found.probe_error : found.plain_error;
    return verdict;
  }
  if (found.probe.at("gpus").empty()) {
    verdict.reason = found.probe.at("gpu_reason").is_null()
                         ? "no GPU was found"
                         : found.probe.at("gpu_reason").get<std::string>();
    if (!is_virtual) {
      verdict.reason += "; `--virtual TOPOLOGY` runs the program on virtual GPUs";
    }
    return verdict;
  }
  verdict.works = true;
  verdict.reason = fmt::format("{} GPUs", found.probe.at("gpus").size());
  if (found.probe.at("gpus").size() == 1) {
    verdict.reason = "1 GPU: single-GPU jobs only, and no collective to speed up";
  }
  return verdict;
}

Verdict library_verdict(const Diagnosis& found, const std::string& label, const std::string& what,
                        const std::string& otherwise) {
  Verdict verdict{what, has_library(found.probe, label), ""};
  const Json* row = library_row(found.probe, label);
  if (verdict.works) {
    verdict.reason = fmt::format("{} at {}", label, row->at("path").get<std::string>());
  } else {
    verdict.reason = fmt::format("{} is not on this process's library path; {}", label, otherwise);
  }
  return verdict;
}

Verdict tuner_verdict(const Diagnosis& found) {
  Verdict verdict{"the NCCL tuner plugin", false, ""};
  if (!found.probe.is_object()) {
    verdict.reason = "no process could be started to try it";
    return verdict;
  }
  const Json& tuner = found.probe.at("tuner");
  verdict.works = tuner.at("error").is_null();
  verdict.reason = verdict.works ? fmt::format("serves tuner interfaces v{} to v{}",
                                               tuner.at("versions").front().get<int>(),
                                               tuner.at("versions").back().get<int>())
                                 : tuner.at("error").get<std::string>();
  for (const NcclSetting& setting : found.nccl) {
    if (verdict.works && setting.name == "NCCL_TUNER_PLUGIN") {
      verdict.reason += fmt::format("; NCCL_TUNER_PLUGIN={} ({}) stays in place of it",
                                    setting.value, setting.source);
    } else if (verdict.works && (setting.name == "NCCL_ALGO" || setting.name == "NCCL_PROTO")) {
      verdict.reason += fmt::format("; {}={} ({}) overrules its choices", setting.name,
                                    setting.value, setting.source);
    }
  }
  return verdict;
}

}  // namespace

std::vector<Verdict> conclude(const Diagnosis& found) {
  std::vector<Verdict> verdicts = {gpu_verdict(found), preload_verdict(found)};
  verdicts.push_back(
      library_verdict(found, "NCCL", "collectives",
                      "programs that bring their own (PyTorch wheels) still find it"));
  verdicts.push_back(
      library_verdict(found, "CUPTI", "starting GEMM parts early",
                      "without it braid cannot see all work and leaves order alone"));
  verdicts.push_back(tuner_verdict(found));
  if (found.max_connections == "1") {
    verdicts.push_back(
        {"overlap of compute and communication", false,
         "CUDA_DEVICE_MAX_CONNECTIONS=1 gives one hardware queue, which keeps the "
         "order of launches (refusal reason one_hardware_queue); schemes still work"});
  }
  if (!found.environment_error.empty()) {
    verdicts.push_back({"the BRAID_ settings", false, found.environment_error});
  }
  return verdicts;
}

Diagnosis diagnose(const Installation& installation, const EnvironmentBlock& environment,
                   const std::string& topology_path) {
  Diagnosis found;
  found.installation = installation;
  found.topology = topology_path;
  found.host = host_name();
  found.nccl = read_nccl_settings_in_effect(environment);
  found.max_connections = environment.get_or("CUDA_DEVICE_MAX_CONNECTIONS", "");
  found.system = read_system_hints(environment);
  read_variables(environment, &found);
  run_probes(environment, &found);
  found.verdicts = conclude(found);
  return found;
}

}  // namespace braid::cli
