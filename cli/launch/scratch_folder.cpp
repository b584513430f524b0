#include "cli/launch/scratch_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace braid::cli {

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

Result<ScratchFolder> ScratchFolder::make(const std::string& parent, const std::string& prefix) {
  std::string name = fmt::format("{}/{}-XXXXXX", parent, prefix);
  if (mkdtemp(name.data()) == nullptr) {
    return fail(parent, fmt::format("no folder can be made there: {}", std::strerror(errno)));
  }
  ScratchFolder folder;
  folder.path_ = name;
  return folder;
}

void ScratchFolder::remove() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    path_.clear();
  }
}

std::string session_parent(const std::string& temporary_folder) {
  constexpr const char* kSharedMemory = "/dev/shm";
  if (access(kSharedMemory, W_OK | X_OK) == 0) {
    return kSharedMemory;
  }
  return temporary_folder.empty() ? "/tmp" : temporary_folder;
}

}  // namespace braid::cli
