// Finding the functions a hook stands in front of.
#pragma once

#include <atomic>

namespace braid::interposer {

/// A library the process has, or may have, mapped.
enum class Library { kNccl, kCublas, kCublasLt, kCudart, kCuda, kCupti };

struct FoundSymbol {
  void* address = nullptr;   // nullptr: not there
  bool same_for_all = true;  // false: another caller may be bound to another copy
};

/// `name` in the real library: in the one copy the process has mapped (by soname, without loading
/// it); where there are several, in the one the code at `caller` needs; else in what follows us in
/// the search order.
FoundSymbol find_real_symbol(Library library, const char* name, const void* caller);

/// As above, but loads the library when the process has not (CUPTI, the driver).
void* load_real_symbol(Library library, const char* name);

/// One real function, found at its first use. Trivially destructible: usable until the very end.
template <typename Signature>
class RealFunction {
 public:
  constexpr RealFunction(Library library, const char* name) : library_(library), name_(name) {}

  /// nullptr when the process has no such function. `caller`: a return address into the calling
  /// code, which decides where two releases of CUDA are mapped.
  Signature* get(const void* caller = nullptr) {
    void* address = address_.load(std::memory_order_acquire);
    if (address == nullptr) {
      const FoundSymbol found = find_real_symbol(library_, name_, caller);
      address = found.address;
      if (found.same_for_all) {
        address_.store(address, std::memory_order_release);
      }
    }
    return reinterpret_cast<Signature*>(address);
  }

 private:
  Library library_;
  const char* name_;
  std::atomic<void*> address_{nullptr};
};

}  // namespace braid::interposer
