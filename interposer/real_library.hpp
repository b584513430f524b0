// Finding the functions a hook stands in front of.
#pragma once

#include <atomic>

namespace braid::interposer {

/// A library the process has, or may have, mapped.
enum class Library { kNccl, kCublas, kCublasLt, kCudart, kCuda, kCupti };

/// The address of `name` in the real library: looked up in the copy the process has mapped (by
/// soname, without loading it), then in what follows us in the search order. nullptr: not there.
void* find_real_symbol(Library library, const char* name);

/// As above, but loads the library when the process has not (CUPTI, the driver).
void* load_real_symbol(Library library, const char* name);

/// One real function, found at its first use. Trivially destructible: usable until the very end.
template <typename Signature>
class RealFunction {
 public:
  constexpr RealFunction(Library library, const char* name) : library_(library), name_(name) {}

  /// nullptr when the process has no such function.
  Signature* get() {
    void* address = address_.load(std::memory_order_acquire);
    if (address == nullptr) {
      address = find_real_symbol(library_, name_);
      address_.store(address, std::memory_order_release);
    }
    return reinterpret_cast<Signature*>(address);
  }

 private:
  Library library_;
  const char* name_;
  std::atomic<void*> address_{nullptr};
};

}  // namespace braid::interposer
