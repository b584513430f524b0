// Seeds and temporary folders for the tests of config/ and tuner_plugin/.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace braid::test {

/// The seed of a property test: BRAID_TEST_SEED, or a fixed one. Printed, so a failure can be
/// repeated.
inline uint64_t property_seed() {
  const char* text = std::getenv("BRAID_TEST_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 20261130;
  std::printf("seed %llu (BRAID_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  return seed;
}

/// A number from `low` to `high`, both included.
inline uint64_t pick(std::mt19937_64& random, uint64_t low, uint64_t high) {
  return std::uniform_int_distribution<uint64_t>(low, high)(random);
}

/// A folder that only this user may write to, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "braid-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      ADD_FAILURE() << "no temporary folder at " << name;
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string path_of(const std::string& name) const { return (path_ / name).string(); }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_of(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace braid::test
