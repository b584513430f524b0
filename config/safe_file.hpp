// Reading and writing small files whose paths come from the environment.
#pragma once

#include <cstddef>
#include <string>

#include "config/result.hpp"

namespace braid::config {

/// Reads a whole file. It must be a regular file of at most `limit` bytes. Symbolic links are
/// followed, except those that lie in a world-writable folder: there anybody could have placed
/// them. Never blocks on a pipe or device. The error's `where` is the path.
Result<std::string> read_small_file(const std::string& path, size_t limit);

/// Replaces a file in one step: writes beside it, flushes to disk, renames. After an error the old
/// file is as it was.
Status replace_file(const std::string& path, const std::string& content);

}  // namespace braid::config
