#include "interposer/real_library.hpp"

#include <dlfcn.h>

#include <array>

namespace braid::interposer {
namespace {

// Newest first: one binary of braid serves CUDA 12 and 13.
struct Sonames {
  std::array<const char*, 3> names;
};

Sonames sonames_of(Library library) {
  switch (library) {
    case Library::kNccl:
      return {{"libnccl.so.2", nullptr, nullptr}};
    case Library::kCublas:
      return {{"libcublas.so.13", "libcublas.so.12", nullptr}};
    case Library::kCublasLt:
      return {{"libcublasLt.so.13", "libcublasLt.so.12", nullptr}};
    case Library::kCudart:
      return {{"libcudart.so.13", "libcudart.so.12", nullptr}};
    case Library::kCuda:
      return {{"libcuda.so.1", nullptr, nullptr}};
    case Library::kCupti:
      return {{"libcupti.so.13", "libcupti.so.12", nullptr}};
  }
  return {};
}

void* find_in(Library library, const char* name, int extra_flags) {
  for (const char* soname : sonames_of(library).names) {
    if (soname == nullptr) {
      break;
    }
    // The handle is kept on purpose: the function found must stay mapped.
    if (void* handle = dlopen(soname, RTLD_LAZY | extra_flags)) {
      if (void* address = dlsym(handle, name)) {
        return address;
      }
    }
  }
  return nullptr;
}

}  // namespace

void* find_real_symbol(Library library, const char* name) {
  if (void* address = find_in(library, name, RTLD_NOLOAD)) {
    return address;
  }
  return dlsym(RTLD_NEXT, name);
}

void* load_real_symbol(Library library, const char* name) {
  if (void* address = find_real_symbol(library, name)) {
    return address;
  }
  return find_in(library, name, 0);
}

}  // namespace braid::interposer
