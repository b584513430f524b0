// A private folder that is removed again.
#pragma once

#include <string>

#include "config/result.hpp"

namespace braid::cli {

/// Owns a folder made for one purpose; removes it with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder() = default;
  ~ScratchFolder() { remove(); }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;

  /// Makes "<parent>/<prefix>-XXXXXX", readable by this user only.
  static Result<ScratchFolder> make(const std::string& parent, const std::string& prefix);

  const std::string& path() const { return path_; }
  void remove();
  /// Gives the folder up: it stays.
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

/// Memory-backed folder for virtual GPU sessions: /dev/shm when it can be written, else
/// `temporary_folder` (TMPDIR; "" stands for /tmp).
std::string session_parent(const std::string& temporary_folder);

}  // namespace braid::cli
