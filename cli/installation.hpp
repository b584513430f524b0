// Where braid's own files lie: beside this program, in a build tree or an installed tree.
#pragma once

#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::cli {

/// Paths of our files. A path is empty when the file was not found; `find_*` below and the launcher
/// turn that into an error only where the file is needed.
struct Installation {
  std::string program;                // this program
  std::string library;                // libbraid.so
  std::string tuner_plugin;           // libnccl-tuner-braid.so
  std::string vgpu_folder;            // stand-ins for the CUDA libraries
  std::string topology_folder;        // shipped topology files
  std::string policy_folder;          // shipped policies
  std::vector<std::string> searched;  // folders looked at, for messages
};

/// From the path of the `braid` program. Build tree: bin/braid, lib/…, share/braid/…; installed:
/// bin/braid, lib[64][/triplet][/braid]/…, share/braid/….
Installation locate_installation(const std::string& program);
/// From /proc/self/exe.
Result<Installation> find_installation();

/// "libbraid.so was not found (looked in …)".
Error missing_file(const Installation& installation, const std::string& file);

/// A topology by path, or by the bare name of a shipped one ("a6000x8-bridged-amd-2socket").
Result<std::string> find_topology(const Installation& installation, const std::string& name);
/// A policy by path, or by the bare name of a shipped one ("overlap").
Result<std::string> find_policy(const Installation& installation, const std::string& name);

/// Names (without extension) of the files of a folder with this extension, sorted.
std::vector<std::string> list_names(const std::string& folder, const std::string& extension);

}  // namespace braid::cli
