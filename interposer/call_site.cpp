#include "interposer/call_site.hpp"

#include <elf.h>
#include <link.h>
#include <unwind.h>

#include <cstring>
#include <iterator>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "config/digest.hpp"

namespace braid::interposer {
namespace {

constexpr int kFrames = 8;

struct Module {
  uint64_t address = 0;  // looked for
  uint64_t base = 0;
  uint64_t build_id = 0;
  bool found = false;
};

// A module's identity is its build id; its name where it was linked without one.
uint64_t identity_of(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) {
      continue;
    }
    const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* name = at + sizeof(note);
      const char* content = name + ((note.n_namesz + 3) & ~3u);
      if (content + note.n_descsz > end) {
        break;
      }
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        return config::digest_of(std::string_view(content, note.n_descsz));
      }
      at = content + ((note.n_descsz + 3) & ~3u);
    }
  }
  return config::digest_of(info.dlpi_name != nullptr ? info.dlpi_name : "");
}

int find_module(dl_phdr_info* info, size_t /*size*/, void* user) {
  auto* module = static_cast<Module*>(user);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && module->address >= begin &&
        module->address < begin + header.p_memsz) {
      module->base = info->dlpi_addr;
      module->build_id = identity_of(*info);
      module->found = true;
      return 1;
    }
  }
  return 0;
}

// The compiler's own unwinder: linked statically it costs the host program no dependency (Debian's
// static libunwind is not position independent).
struct Backtrace {
  void* frames[kFrames + 8] = {};
  int count = 0;
};

_Unwind_Reason_Code collect_frame(_Unwind_Context* context, void* user) {
  auto* trace = static_cast<Backtrace*>(user);
  if (trace->count == static_cast<int>(std::size(trace->frames))) {
    return _URC_END_OF_STACK;
  }
  trace->frames[trace->count++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

uint64_t walk_stack(const void* return_address) {
  Backtrace trace;
  _Unwind_Backtrace(collect_frame, &trace);
  const auto& frames = trace.frames;
  const int count = trace.count;
  config::Digest digest;
  int used = 0;
  bool reached = false;
  for (int i = 0; i < count && used < kFrames; ++i) {
    reached = reached || frames[i] == return_address;
    if (!reached) {
      continue;  // braid's own frames
    }
    Module module;
    module.address = reinterpret_cast<uint64_t>(frames[i]);
    dl_iterate_phdr(find_module, &module);
    if (!module.found) {
      continue;  // code made at run time has no stable identity
    }
    digest.add(module.build_id).add(module.address - module.base);
    ++used;
  }
  return used > 0 ? digest.value() : 0;
}

struct Cache {
  std::mutex mutex;
  std::unordered_map<const void*, uint64_t> sites;
};

}  // namespace

uint64_t find_module_identity(const void* address) {
  Module module;
  module.address = reinterpret_cast<uint64_t>(address);
  dl_iterate_phdr(find_module, &module);
  return module.build_id;
}

uint64_t find_call_site(const void* return_address) {
  static auto* cache = new Cache();  // never destroyed: hooks run until the very end
  {
    std::lock_guard<std::mutex> lock(cache->mutex);
    if (const auto it = cache->sites.find(return_address); it != cache->sites.end()) {
      return it->second;
    }
  }
  const uint64_t site = walk_stack(return_address);
  std::lock_guard<std::mutex> lock(cache->mutex);
  return cache->sites.try_emplace(return_address, site).first->second;
}

}  // namespace braid::interposer
