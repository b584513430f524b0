#include "interposer/real_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <vector>

namespace braid::interposer {
namespace {

// Newest first: one binary of braid serves CUDA 12 and 13, and forwards what it finds of 11.
struct Sonames {
  std::array<const char*, 3> names;
};

Sonames sonames_of(Library library) {
  switch (library) {
    case Library::kNccl:
      return {{"libnccl.so.2", nullptr, nullptr}};
    case Library::kCublas:
      return {{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}};
    case Library::kCublasLt:
      return {{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}};
    case Library::kCudart:
      return {{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}};
    case Library::kCuda:
      return {{"libcuda.so.1", nullptr, nullptr}};
    case Library::kCupti:
      return {{"libcupti.so.13", "libcupti.so.12", nullptr}};
  }
  return {};
}

// The function in each copy that is mapped (or, with no flag, can be loaded), newest first.
std::vector<void*> find_in(Library library, const char* name, int extra_flags) {
  std::vector<void*> found;
  for (const char* soname : sonames_of(library).names) {
    if (soname == nullptr) {
      break;
    }
    // The handle is kept on purpose: the function found must stay mapped.
    void* handle = dlopen(soname, RTLD_LAZY | extra_flags);
    void* address = handle != nullptr ? dlsym(handle, name) : nullptr;
    if (address != nullptr && std::find(found.begin(), found.end(), address) == found.end()) {
      found.push_back(address);
    }
  }
  return found;
}

// What the code at `caller` would have been bound to without us: the first in its own library and
// what that needs. nullptr for the program itself, whose scope begins with us.
void* find_for_caller(const void* caller, const char* name) {
  Dl_info info{};
  link_map* map = nullptr;
  if (caller == nullptr ||
      dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr || map->l_name == nullptr || map->l_name[0] == '\0') {
    return nullptr;
  }
  void* handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

}  // namespace

FoundSymbol find_real_symbol(Library library, const char* name, const void* caller) {
  const std::vector<void*> mapped = find_in(library, name, RTLD_NOLOAD);
  if (mapped.size() == 1) {
    return {mapped.front(), true};
  }
  // Several copies (two CUDA releases in one process), or none by a name we know: what belongs to
  // the caller, then what follows us in the program's search order.
  if (void* own = find_for_caller(caller, name)) {
    return {own, false};
  }
  if (void* next = dlsym(RTLD_NEXT, name)) {
    return {next, mapped.empty()};
  }
  return {mapped.empty() ? nullptr : mapped.front(), false};
}

void* load_real_symbol(Library library, const char* name) {
  if (void* address = find_real_symbol(library, name, nullptr).address) {
    return address;
  }
  const std::vector<void*> loaded = find_in(library, name, 0);
  return loaded.empty() ? nullptr : loaded.front();
}

}  // namespace braid::interposer
