// parts = "auto", and cuts that are not equal: where the model decides.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "config/policy.hpp"
#include "interposer/gemm_pairs.hpp"
#include "interposer/refusal.hpp"

namespace braid::interposer {

/// Boundaries (in elements, front 0, back the whole count) for a GEMM of this shape and the
/// AllReduce of its output over the GPUs with these bus ids (in rank order), by the closed form
/// with wave quantisation on the policy's topology and GPU. Refused when there is no topology or
/// GPU model (kNoModel), or no gain is seen (kNoGain).
std::variant<std::vector<uint64_t>, Refusal> choose_boundaries(
    const config::Policy& policy, const config::Rule& rule, const std::vector<std::string>& bus_ids,
    uint64_t bytes, const GemmShape& shape);

}  // namespace braid::interposer
