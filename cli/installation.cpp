#include "cli/installation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "config/closest_match.hpp"

namespace braid::cli {
namespace fs = std::filesystem;
namespace {

/// Folders under the prefix that may hold our libraries, best first.
constexpr const char* kLibraryFolders[] = {
    "lib",  "lib/braid", "lib/" BRAID_MULTIARCH "/braid", "lib64/braid", "lib/" BRAID_MULTIARCH,
    "lib64"};

std::string find_in(const fs::path& prefix, const std::string& file) {
  for (const char* folder : kLibraryFolders) {
    const fs::path candidate = prefix / folder / file;
    std::error_code error;
    if (fs::exists(candidate, error)) {
      return candidate.lexically_normal().string();
    }
  }
  return "";
}

Result<std::string> find_named_file(const std::string& folder, const std::string& extension,
                                    const std::string& kind, const std::string& name) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) {
    return fs::absolute(name).lexically_normal().string();
  }
  if (fs::is_directory(name, error)) {
    return fail(name, fmt::format("is a folder; a {} file was expected", kind));
  }
  const std::vector<std::string> shipped = list_names(folder, extension);
  if (name.find('/') == std::string::npos) {
    std::string bare = name;
    if (bare.ends_with(extension)) {
      bare.erase(bare.size() - extension.size());
    }
    if (std::find(shipped.begin(), shipped.end(), bare) != shipped.end()) {
      return (fs::path(folder) / (bare + extension)).string();
    }
  }
  std::string text =
      fmt::format("there is no such {} file{}", kind, config::suggestion(name, shipped));
  if (!shipped.empty()) {
    text += fmt::format("; shipped with braid: {}", fmt::join(shipped, ", "));
  }
  return fail(name, text);
}

}  // namespace

std::vector<std::string> list_names(const std::string& folder, const std::string& extension) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == extension) {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Installation locate_installation(const std::string& program) {
  Installation found;
  found.program = program;
  const fs::path prefix = fs::path(program).parent_path().parent_path();
  found.library = find_in(prefix, "libbraid.so");
  found.tuner_plugin = find_in(prefix, "libnccl-tuner-braid.so");
  found.vgpu_folder = find_in(prefix, "vgpu");
  const fs::path share = prefix / "share" / "braid";
  found.topology_folder = (share / "topologies").string();
  found.policy_folder = (share / "policies").string();
  for (const char* folder : kLibraryFolders) {
    found.searched.push_back((prefix / folder).string());
  }
  return found;
}

Result<Installation> find_installation() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return fail("/proc/self/exe", fmt::format("cannot be read: {}", error.message()));
  }
  return locate_installation(program.string());
}

Error missing_file(const Installation& installation, const std::string& file) {
  return Error{file, fmt::format("was not found beside {}; looked in {}", installation.program,
                                 fmt::join(installation.searched, ", "))};
}

Result<std::string> find_topology(const Installation& installation, const std::string& name) {
  return find_named_file(installation.topology_folder, ".xml", "topology", name);
}

Result<std::string> find_policy(const Installation& installation, const std::string& name) {
  return find_named_file(installation.policy_folder, ".toml", "policy", name);
}

}  // namespace braid::cli
