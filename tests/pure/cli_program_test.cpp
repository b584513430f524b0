// Finding programs, and telling which of them carry the CUDA runtime inside.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cli/installation.hpp"
#include "cli/launch/program.hpp"
#include "cli_test_support.hpp"

namespace braid::cli {
namespace {

/// A minimal 64-bit ELF file: one PT_LOAD over everything, a dynamic section with these NEEDED
/// names, and `payload` at the end.
std::string make_elf(const std::vector<std::string>& needed, const std::string& payload) {
  constexpr uint64_t kBase = 0x400000;
  const size_t headers = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const size_t dynamic_size = (needed.size() + 2) * sizeof(Elf64_Dyn);
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  for (const std::string& name : needed) {
    Elf64_Dyn entry{};
    entry.d_tag = DT_NEEDED;
    entry.d_un.d_val = strings.size();
    dynamic.push_back(entry);
    strings += name + '\0';
  }
  Elf64_Dyn table{}, end{};
  table.d_tag = DT_STRTAB;
  table.d_un.d_ptr = kBase + headers + dynamic_size;
  dynamic.push_back(table);
  dynamic.push_back(end);

  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_phoff = sizeof file;
  file.e_phnum = 2;
  const size_t size = headers + dynamic_size + strings.size() + payload.size();
  Elf64_Phdr load{}, dynamic_header{};
  load.p_type = PT_LOAD;
  load.p_vaddr = kBase;
  load.p_filesz = size;
  dynamic_header.p_type = PT_DYNAMIC;
  dynamic_header.p_offset = headers;
  dynamic_header.p_filesz = dynamic_size;

  std::string bytes;
  bytes.append(reinterpret_cast<const char*>(&file), sizeof file);
  bytes.append(reinterpret_cast<const char*>(&load), sizeof load);
  bytes.append(reinterpret_cast<const char*>(&dynamic_header), sizeof dynamic_header);
  bytes.append(reinterpret_cast<const char*>(dynamic.data()), dynamic_size);
  return bytes + strings + payload;
}

const std::string kRuntimeTexts = std::string("cudaErrorCudartUnloading") + '\0' + "libcuda.so.1";

TEST(ElfFacts, SharedRuntimeIsSeenInNeeded) {
  const auto facts = read_elf_bytes(make_elf({"libnccl.so.2", "libcudart.so.13"}, ""), "p");
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->is_elf);
  EXPECT_TRUE(facts->is_dynamic);
  EXPECT_EQ(facts->needed, (std::vector<std::string>{"libnccl.so.2", "libcudart.so.13"}));
  EXPECT_TRUE(facts->needs_cudart);
  EXPECT_FALSE(facts->has_static_cudart);
}

TEST(ElfFacts, StaticRuntimeIsRecognisedByItsTexts) {
  const auto facts = read_elf_bytes(make_elf({"libc.so.6"}, kRuntimeTexts), "p");
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->needs_cudart);
  EXPECT_TRUE(facts->has_static_cudart);
}

TEST(ElfFacts, OneTextAloneOrTheSharedRuntimeIsNotStatic) {
  EXPECT_FALSE(read_elf_bytes(make_elf({"libc.so.6"}, "libcuda.so.1"), "p")->has_static_cudart);
  EXPECT_FALSE(
      read_elf_bytes(make_elf({"libcudart.so.12"}, kRuntimeTexts), "p")->has_static_cudart);
}

TEST(ElfFacts, ScriptsAndDamagedFiles) {
  EXPECT_FALSE(read_elf_bytes("#!/bin/sh\nexit 0\n", "p")->is_elf);
  EXPECT_FALSE(read_elf_bytes("", "p")->is_elf);
  const std::string whole = make_elf({"libc.so.6"}, "");
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    read_elf_bytes(whole.substr(0, cut), "p");  // must come back
  }
  const auto damaged = read_elf_bytes(whole.substr(0, sizeof(Elf64_Ehdr) + 10), "p");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().where, "p");
}

TEST(FindProgram, SearchesThePathInOrder) {
  TemporaryFolder folder;
  folder.write("a/tool", "text only");
  const std::string tool = folder.write("b/tool", "#!/bin/sh\n", true);
  const auto found = find_program("tool", folder.path() + "/a:" + folder.path() + "/b");
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(*found, tool);
  EXPECT_EQ(*find_program(tool, ""), tool);
}

TEST(FindProgram, ErrorsSayWhatIsWrong) {
  TemporaryFolder folder;
  const std::string text = folder.write("notes.txt", "x");
  EXPECT_NE(find_program("no-such-tool", folder.path()).error().text().find("PATH"),
            std::string::npos);
  EXPECT_NE(find_program(text, "").error().text().find("not an executable"), std::string::npos);
  EXPECT_NE(find_program("/no/such/file", "").error().text().find("no such program"),
            std::string::npos);
}

TEST(DigestFile, FollowsTheBytes) {
  TemporaryFolder folder;
  const auto one = digest_file(folder.write("one", "abc"));
  EXPECT_EQ(*one, *digest_file(folder.write("two", "abc")));
  EXPECT_NE(*one, *digest_file(folder.write("three", "abd")));
  EXPECT_FALSE(digest_file(folder.path() + "/none"));
}

TEST(Installation, BuildTreeAndInstalledTree) {
  TemporaryFolder build;
  build.write("lib/libbraid.so", "");
  build.write("lib/vgpu/libnccl.so.2", "");
  build.write("share/braid/topologies/box.xml", "");
  const Installation found = locate_installation(build.path() + "/bin/braid");
  EXPECT_EQ(found.library, build.path() + "/lib/libbraid.so");
  EXPECT_EQ(found.vgpu_folder, build.path() + "/lib/vgpu");
  EXPECT_EQ(found.tuner_plugin, "");
  EXPECT_EQ(*find_topology(found, "box"), build.path() + "/share/braid/topologies/box.xml");
  EXPECT_EQ(*find_topology(found, "box.xml"), build.path() + "/share/braid/topologies/box.xml");

  TemporaryFolder prefix;
  prefix.write("lib/braid/libbraid.so", "");
  EXPECT_EQ(locate_installation(prefix.path() + "/bin/braid").library,
            prefix.path() + "/lib/braid/libbraid.so");
}

TEST(Installation, UnknownTopologyListsTheShippedOnes) {
  TemporaryFolder build;
  build.write("share/braid/topologies/a6000x8.xml", "");
  const auto missing = find_topology(locate_installation(build.path() + "/bin/braid"), "a6000x9");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("a6000x8"), std::string::npos) << missing.error().text();
}

}  // namespace
}  // namespace braid::cli
