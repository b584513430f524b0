#include "vgpu/cublas/lt/attributes.hpp"

#include <algorithm>
#include <string>

namespace braid::vgpu::cublaslt {
namespace {

const Field* find(std::span<const Field> fields, int attribute) {
  const auto found = std::find_if(fields.begin(), fields.end(), [attribute](const Field& field) {
    return field.attribute == attribute;
  });
  return found == fields.end() ? nullptr : &*found;
}

cublasStatus_t refuse_unknown(const char* function, int attribute) {
  return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE,
                         "no attribute " + std::to_string(attribute));
}

cublasStatus_t refuse_size(const char* function, size_t found, size_t expected) {
  return gemm::fail_call(
      function, CUBLAS_STATUS_INVALID_VALUE,
      "the value has " + std::to_string(found) + " bytes, expected " + std::to_string(expected));
}

}  // namespace

cublasStatus_t set_attribute(const char* function, std::span<const Field> fields, void* object,
                             int attribute, const void* buffer, size_t bytes) {
  if (object == nullptr || buffer == nullptr) {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE,
                           "the descriptor or the value is null");
  }
  const Field* field = find(fields, attribute);
  if (field == nullptr) {
    return refuse_unknown(function, attribute);
  }
  if (bytes != field->bytes) {
    return refuse_size(function, bytes, field->bytes);
  }
  std::memcpy(static_cast<char*>(object) + field->offset, buffer, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t give_bytes(const char* function, const void* value, size_t value_bytes, void* buffer,
                          size_t bytes, size_t* written) {
  if (bytes == 0) {
    if (written == nullptr) {
      return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE,
                             "neither a buffer nor a place for its size is given");
    }
    *written = value_bytes;
    return CUBLAS_STATUS_SUCCESS;
  }
  if (buffer == nullptr) {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE, "the buffer is null");
  }
  if (bytes != value_bytes) {
    return refuse_size(function, bytes, value_bytes);
  }
  std::memcpy(buffer, value, value_bytes);
  if (written != nullptr) {
    *written = value_bytes;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get_attribute(const char* function, std::span<const Field> fields,
                             const void* object, int attribute, void* buffer, size_t bytes,
                             size_t* written) {
  if (object == nullptr) {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE, "the descriptor is null");
  }
  const Field* field = find(fields, attribute);
  if (field == nullptr) {
    return refuse_unknown(function, attribute);
  }
  return give_bytes(function, static_cast<const char*>(object) + field->offset, field->bytes,
                    buffer, bytes, written);
}

}  // namespace braid::vgpu::cublaslt
