// Where in the program a call comes from, the same from run to run and from rank to rank.
#pragma once

#include <cstdint>

namespace braid::interposer {

/// Hash over (build id, offset) of the return addresses from the hook up to eight frames. The stack
/// is walked once for each `return_address` of a hook; later calls only look it up, so calls
/// through one dispatcher share the first one's hash. 0: unknown. Thread safe.
uint64_t find_call_site(const void* return_address);

/// Digest of the build id of the library or program that holds `address`; 0: none does.
uint64_t find_module_identity(const void* address);

}  // namespace braid::interposer
