// How NCCL's functions are exported.
#pragma once

#include <nccl.h>

/// Declares an NCCL function as NCCL's library exports it: pncclNAME strong, ncclNAME a weak alias
/// of the same code, which a preloaded library may replace. A body follows. Calls to ncclNAME from
/// inside this library go through the PLT and so reach the replacement.
#define BRAID_NCCL_API(result, name, ...)                                        \
  extern "C" __attribute__((visibility("default"))) result p##name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name)))      \
  result name(__VA_ARGS__);                                                      \
  extern "C" __attribute__((visibility("default"))) result p##name(__VA_ARGS__)
