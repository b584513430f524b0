// All that `braid doctor` finds out, and what follows from it.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/nccl_settings.hpp"
#include "cli/doctor/probe.hpp"
#include "cli/doctor/system_hints.hpp"
#include "cli/installation.hpp"
#include "cli/json_output.hpp"

namespace braid::cli {

/// "X works", or "X would not work because …".
struct Verdict {
  std::string what;
  bool works = false;
  std::string reason;
};

struct VariableRow {
  std::string name, values, default_value, help;
  std::string value;  // "" unset
  bool set = false;
};

struct Diagnosis {
  std::string topology;     // of the virtual box; "" real machine
  std::string host;         // host name
  Json probe;               // probe_this_process of a child under the preload
  std::string probe_error;  // why there is none
  std::string plain_error;  // why a child without the preload failed; "" when it did not
  std::vector<NcclSetting> nccl;
  std::string max_connections;  // CUDA_DEVICE_MAX_CONNECTIONS; "" unset
  std::vector<SystemHint> system;
  std::vector<VariableRow> variables;
  std::vector<std::string> unknown_variables;
  std::string environment_error;
  std::vector<Verdict> verdicts;
  Installation installation;
};

/// `topology_path`: examine virtual GPUs; "": this machine.
Diagnosis diagnose(const Installation& installation, const EnvironmentBlock& environment,
                   const std::string& topology_path);

/// The conclusions from everything else in `found`; pure.
std::vector<Verdict> conclude(const Diagnosis& found);

std::string diagnosis_text(const Diagnosis& diagnosis);
Json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace braid::cli
