// The session: files shared by the processes of one virtual box.
//
// BRAID_VGPU_SESSION names a folder, which is made when it is missing and stays for its maker to
// remove. Without it the session is private: anonymous memory files, which end with the process
// however that happens.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "config/result.hpp"

namespace braid::vgpu {

class Session {
 public:
  /// `folder` empty: private. Errors name the folder.
  static Result<Session*> open(const std::string& folder);

  /// Opens (and makes, zeroed) the file of that name and grows it to `bytes`. The descriptor
  /// belongs to the session.
  Result<int> open_file(const std::string& name, uint64_t bytes);

  /// Maps the whole of such a file, at `address` exactly unless that is 0.
  Result<void*> map_file(const std::string& name, uint64_t bytes, uint64_t address);

  /// Removes every file but `kept`; when no process uses the session.
  void remove_files_except(const std::string& kept);

  /// What the session is called in messages.
  std::string describe() const;
  bool is_private() const { return folder_.empty(); }

 private:
  explicit Session(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, int> files_;
};

}  // namespace braid::vgpu
