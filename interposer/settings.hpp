// The policy of this process and what follows from it.
#pragma once

#include <optional>

#include "config/policy.hpp"
#include "config/result.hpp"

namespace braid::interposer {

/// The policy, read at the first call. nullptr: none is set, or it is broken.
const config::Policy* policy();

/// Why the policy that is set cannot be used. Under BRAID_ON_ERROR=stock it is said once and
/// forgotten.
const std::optional<Error>& policy_error();

/// True when calls may be rewritten in this process: mode auto and a usable policy.
bool may_rewrite();

/// True when a GEMM may be cut: not under numerics = "exact", because a library may choose another
/// kernel for the parts.
bool may_split_gemms();

/// What must be equal on all ranks, as digests (design §6).
uint64_t library_digest();
uint64_t settings_digest();

/// CUDA_DEVICE_MAX_CONNECTIONS=1.
bool has_one_hardware_queue();

}  // namespace braid::interposer
