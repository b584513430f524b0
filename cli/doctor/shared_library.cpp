#include "cli/doctor/shared_library.hpp"

#include <link.h>

namespace braid::cli {

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) {
    return "";
  }
  return map->l_name;
}

std::string library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace braid::cli
