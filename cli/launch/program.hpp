// The program a job starts: where it is, what it is, and whether virtual GPUs can serve it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/result.hpp"

namespace braid::cli {

/// Finds the file that execvp would run for `word`, with the PATH given. Errors name the word and
/// the folders that were searched.
Result<std::string> find_program(const std::string& word, const std::string& path_variable);

/// FNV-1a of the file's bytes, for "the same binary in all arms".
Result<uint64_t> digest_file(const std::string& path);

/// What an executable's headers say about its use of CUDA.
struct ElfFacts {
  bool is_elf = false;
  bool is_dynamic = false;          // has a dynamic section
  std::vector<std::string> needed;  // DT_NEEDED
  bool needs_cudart = false;        // libcudart.so.* among them
  bool has_static_cudart = false;   // carries NVIDIA's runtime inside itself
};

/// Reads an executable's program headers and loaded bytes. Not an ELF file: `is_elf` is false. A
/// damaged ELF file is an error. Static runtimes are recognised by texts that only the runtime has,
/// so stripped programs are recognised too.
Result<ElfFacts> read_elf_facts(const std::string& path);
/// The same for bytes in memory; `name` stands for the file in messages.
Result<ElfFacts> read_elf_bytes(const std::string& bytes, const std::string& name);

}  // namespace braid::cli
