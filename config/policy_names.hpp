// The words a policy file may use, each with its typed value. One table a type; reader, writer and
// command line use the same.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/policy.hpp"

namespace braid::config {

/// The schema this version reads and writes.
inline constexpr const char* kPolicySchema = "braid-policy/1";

template <typename T>
struct Named {
  const char* name;
  T value;
};

inline constexpr Named<Collective> kCollectiveNames[] = {
    {"allreduce", Collective::kAllReduce},
    {"allgather", Collective::kAllGather},
    {"reducescatter", Collective::kReduceScatter},
    {"broadcast", Collective::kBroadcast},
    {"reduce", Collective::kReduce},
    {"alltoall", Collective::kAllToAll},
    {"sendrecv", Collective::kSendRecv}};

inline constexpr Named<Numerics> kNumericsNames[] = {
    {"exact", Numerics::kExact}, {"reordered", Numerics::kReordered}, {"lossy", Numerics::kLossy}};

inline constexpr Named<Strategy> kStrategyNames[] = {{"serial", Strategy::kSerial},
                                                     {"decompose", Strategy::kDecompose},
                                                     {"fused", Strategy::kFused}};

inline constexpr Named<Cut> kCutNames[] = {
    {"equal", Cut::kEqual}, {"geometric", Cut::kGeometric}, {"wave", Cut::kWave}};

inline constexpr Named<Algorithm> kAlgorithmNames[] = {
    {"auto", Algorithm::kAuto}, {"tree", Algorithm::kTree}, {"ring", Algorithm::kRing}};

inline constexpr Named<Protocol> kProtocolNames[] = {{"auto", Protocol::kAuto},
                                                     {"ll", Protocol::kLl},
                                                     {"ll128", Protocol::kLl128},
                                                     {"simple", Protocol::kSimple}};

/// Schemes: how one collective's bytes travel. "stock" is what NCCL does by itself.
inline constexpr Named<const char*> kSchemeNames[] = {{"stock", "stock"},
                                                      {"double_ring", "double_ring"},
                                                      {"tree_chains", "tree_chains"},
                                                      {"hierarchical", "hierarchical"}};

/// Datatypes, one name for each of NCCL's.
inline constexpr Named<const char*> kDtypeNames[] = {
    {"int8", "int8"},   {"uint8", "uint8"},   {"int32", "int32"},     {"uint32", "uint32"},
    {"int64", "int64"}, {"uint64", "uint64"}, {"fp16", "fp16"},       {"fp32", "fp32"},
    {"fp64", "fp64"},   {"bf16", "bf16"},     {"fp8e4m3", "fp8e4m3"}, {"fp8e5m2", "fp8e5m2"}};

/// Reduction operations that a [[plan]] entry names.
inline constexpr Named<const char*> kOperationNames[] = {
    {"sum", "sum"}, {"prod", "prod"}, {"max", "max"}, {"min", "min"}, {"avg", "avg"}};

/// The value of a name, exactly as written in the table.
template <typename T, size_t N>
std::optional<T> value_in(const Named<T> (&table)[N], const std::string& name) {
  for (const Named<T>& entry : table) {
    if (name == entry.name) {
      return entry.value;
    }
  }
  return std::nullopt;
}

/// The name of a value; "?" for a number that is no value of the type.
template <typename T, size_t N>
const char* name_in(const Named<T> (&table)[N], T value) {
  for (const Named<T>& entry : table) {
    if (entry.value == value) {
      return entry.name;
    }
  }
  return "?";
}

/// All names of a table, in its order.
template <typename T, size_t N>
std::vector<std::string> names_in(const Named<T> (&table)[N]) {
  std::vector<std::string> names;
  for (const Named<T>& entry : table) {
    names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace braid::config
