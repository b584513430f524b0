#include "cli/launch/program.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

namespace braid::cli {
namespace fs = std::filesystem;
namespace {

bool is_runnable(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

/// Copies a T out of `bytes` at `offset`, or nothing when it does not lie inside.
template <typename T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string text_at(std::string_view bytes, uint64_t offset) {
  if (offset >= bytes.size()) {
    return "";
  }
  const std::string_view rest = bytes.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

/// File offset of a virtual address, by the PT_LOAD headers.
std::optional<uint64_t> file_offset(const std::vector<Elf64_Phdr>& headers, uint64_t address) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && address >= header.p_vaddr &&
        address - header.p_vaddr < header.p_filesz) {
      return header.p_offset + (address - header.p_vaddr);
    }
  }
  return std::nullopt;
}

std::vector<std::string> read_needed(std::string_view bytes, const std::vector<Elf64_Phdr>& headers,
                                     const Elf64_Phdr& dynamic) {
  std::vector<uint64_t> name_offsets;
  uint64_t string_table = 0;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = read_at<Elf64_Dyn>(bytes, dynamic.p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) {
      break;
    }
    if (entry->d_tag == DT_NEEDED) {
      name_offsets.push_back(entry->d_un.d_val);
    } else if (entry->d_tag == DT_STRTAB) {
      string_table = entry->d_un.d_ptr;
    }
  }
  std::vector<std::string> needed;
  if (const auto table = file_offset(headers, string_table)) {
    for (const uint64_t offset : name_offsets) {
      needed.push_back(text_at(bytes, *table + offset));
    }
  }
  return needed;
}

}  // namespace

Result<std::string> find_program(const std::string& word, const std::string& path_variable) {
  if (word.empty()) {
    return fail("command", "is empty; a program was expected after --");
  }
  if (word.find('/') != std::string::npos) {
    if (is_runnable(word)) {
      return word;
    }
    std::error_code error;
    return fail(word,
                fs::exists(word, error) ? "is not an executable file" : "there is no such program");
  }
  size_t begin = 0;
  while (begin <= path_variable.size()) {
    const size_t end = std::min(path_variable.find(':', begin), path_variable.size());
    std::string folder = path_variable.substr(begin, end - begin);
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + word;
    if (is_runnable(candidate)) {
      return candidate;
    }
    begin = end + 1;
  }
  return fail(word, fmt::format("there is no such program in PATH ({})", path_variable));
}

Result<uint64_t> digest_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  uint64_t digest = 14695981039346656037ull;
  std::vector<char> block(1 << 20);
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    for (std::streamsize i = 0; i < in.gcount(); ++i) {
      digest =
          (digest ^ static_cast<unsigned char>(block[static_cast<size_t>(i)])) * 1099511628211ull;
    }
  }
  return digest;
}

Result<ElfFacts> read_elf_bytes(const std::string& text, const std::string& name) {
  ElfFacts facts;
  const std::string_view bytes(text);
  if (bytes.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG)) {
    return facts;
  }
  facts.is_elf = true;
  const auto file = read_at<Elf64_Ehdr>(bytes, 0);
  if (!file || file->e_ident[EI_CLASS] != ELFCLASS64) {
    return fail(name, "is not a 64-bit ELF program");
  }
  std::vector<Elf64_Phdr> headers;
  for (uint64_t i = 0; i < file->e_phnum; ++i) {
    const auto header = read_at<Elf64_Phdr>(bytes, file->e_phoff + i * sizeof(Elf64_Phdr));
    if (!header) {
      return fail(name,
                  fmt::format("is a damaged ELF file: program header {} of {} lies outside it", i,
                              file->e_phnum));
    }
    headers.push_back(*header);
  }
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_DYNAMIC) {
      facts.is_dynamic = true;
      facts.needed = read_needed(bytes, headers, header);
    }
  }
  facts.needs_cudart = std::any_of(facts.needed.begin(), facts.needed.end(), [](const auto& entry) {
    return entry.starts_with("libcudart.so");
  });
  // The runtime names the driver library it opens, and has its own name for every error; a program
  // that uses the shared runtime has neither text.
  facts.has_static_cudart = !facts.needs_cudart &&
                            bytes.find("cudaErrorCudartUnloading") != std::string_view::npos &&
                            bytes.find("libcuda.so.1") != std::string_view::npos;
  return facts;
}

Result<ElfFacts> read_elf_facts(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(4, '\0');
  if (!in.read(bytes.data(), 4)) {
    return in.bad() || !in.is_open()
               ? Result<ElfFacts>(
                     fail(path, fmt::format("cannot be read: {}", std::strerror(errno))))
               : Result<ElfFacts>(ElfFacts{});
  }
  if (bytes != ELFMAG) {
    return ElfFacts{};
  }
  bytes.append(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  return read_elf_bytes(bytes, path);
}

}  // namespace braid::cli
