// A shared library opened by soname.
#pragma once

#include <dlfcn.h>

#include <string>

namespace braid::cli {

/// dlopen and dlclose. The library is closed at the end of the object's life.
class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& name)
      : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* text = dlerror();
      error_ = text == nullptr ? "dlopen failed" : text;
    }
  }
  ~SharedLibrary() {
    if (handle_ != nullptr) {
      dlclose(handle_);
    }
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  bool loaded() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }
  /// The file that the loader chose.
  std::string path() const;

  /// Sets `*function` to the symbol, or to nullptr. False: not there.
  template <typename Function>
  bool find(const char* symbol, Function* function) const {
    void* address = handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
    *function = reinterpret_cast<Function>(address);
    return address != nullptr;
  }

 private:
  void* handle_;
  std::string error_;
};

/// The file that holds an address, "" when unknown.
std::string library_of(const void* address);

}  // namespace braid::cli
