// Attributes of cuBLASLt's descriptors: named fields at fixed places in opaque memory.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>

#include "vgpu/cublas/gemm/log.hpp"

namespace braid::vgpu::cublaslt {

struct Field {
  int attribute;
  size_t offset;
  size_t bytes;
};

/// Copies a descriptor out of its opaque memory.
template <typename T, typename Opaque>
T load(const Opaque* opaque) {
  static_assert(sizeof(T) <= sizeof(Opaque));
  T value;
  std::memcpy(static_cast<void*>(&value), opaque, sizeof value);
  return value;
}

template <typename T, typename Opaque>
void store(Opaque* opaque, const T& value) {
  static_assert(sizeof(T) <= sizeof(Opaque));
  std::memset(opaque, 0, sizeof *opaque);
  std::memcpy(opaque, &value, sizeof value);
}

/// The rules all …SetAttribute functions share: a known attribute and a buffer of exactly its size.
cublasStatus_t set_attribute(const char* function, std::span<const Field> fields, void* object,
                             int attribute, const void* buffer, size_t bytes);

/// The rules all …GetAttribute functions share; with 0 bytes only the size is told.
cublasStatus_t get_attribute(const char* function, std::span<const Field> fields,
                             const void* object, int attribute, void* buffer, size_t bytes,
                             size_t* written);

/// The same for a value of any length, such as a list.
cublasStatus_t give_bytes(const char* function, const void* value, size_t value_bytes, void* buffer,
                          size_t bytes, size_t* written);

/// …Create: allocates the opaque memory and initialises it to `value`.
template <typename Opaque, typename T>
cublasStatus_t create(const char* function, Opaque** out, const T& value) {
  if (out == nullptr) {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE, "the result pointer is null");
  }
  auto* opaque = new (std::nothrow) Opaque;
  if (opaque == nullptr) {
    return gemm::fail_call(function, CUBLAS_STATUS_ALLOC_FAILED, "out of host memory");
  }
  store(opaque, value);
  *out = opaque;
  return CUBLAS_STATUS_SUCCESS;
}

/// …Init_internal: initialises memory of the caller's, which must be large enough.
template <typename Opaque, typename T>
cublasStatus_t initialise(const char* function, Opaque* opaque, size_t bytes, const T& value) {
  if (opaque == nullptr) {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE, "the descriptor is null");
  }
  if (bytes < sizeof(Opaque)) {
    return gemm::fail_call(function, CUBLAS_STATUS_ALLOC_FAILED, "the descriptor is too small");
  }
  store(opaque, value);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace braid::vgpu::cublaslt

/// A row of a field table.
#define BRAID_FIELD(ATTRIBUTE, STRUCT, MEMBER) \
  braid::vgpu::cublaslt::Field { ATTRIBUTE, offsetof(STRUCT, MEMBER), sizeof(STRUCT::MEMBER) }
