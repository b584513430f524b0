// Folders and files for the tests of cli/.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace braid::cli {

/// A fresh folder, removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "braid-cli-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }

  /// Writes a file (and the folders above it) and returns its path.
  std::string write(const std::string& name, const std::string& text,
                    bool executable = false) const {
    const std::filesystem::path path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    if (executable) {
      std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    return path.string();
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

/// Two A6000 bridged by NVLink under one AMD CPU.
inline std::string bridged_pair_xml() {
  return R"(<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="0000:10:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="86" rank="0" gdr="0"><nvlink target="0000:11:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
    <pci busid="0000:11:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="86" rank="1" gdr="0"><nvlink target="0000:10:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
  </cpu>
</system>
)";
}

}  // namespace braid::cli
