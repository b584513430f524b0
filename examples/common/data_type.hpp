// The element types the examples compute in.
#pragma once

#include <cublas_v2.h>
#include <nccl.h>

#include <cstddef>

namespace examples {

enum class DataType { kFloat32, kBfloat16, kFloat16 };

inline size_t bytes_of(DataType type) { return type == DataType::kFloat32 ? 4 : 2; }

inline ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kFloat16:
      return ncclFloat16;
    default:
      return ncclFloat32;
  }
}

inline cudaDataType_t cublas_type(DataType type) {
  switch (type) {
    case DataType::kBfloat16:
      return CUDA_R_16BF;
    case DataType::kFloat16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

}  // namespace examples
