// Launchers of the examples' element-wise kernels. All are asynchronous on `stream`; matrices are
// row-major.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "common/data_type.hpp"

namespace examples {

namespace ops {
struct DigestLane;
}

/// A block of a matrix that may be spread over ranks.
struct MatrixBlock {
  size_t rows;
  size_t columns;
  size_t global_columns;
  size_t first_row = 0;
  size_t first_column = 0;
};

/// Uniform numbers in [-scale, scale), the same for an element whichever block it lies in.
void fill(DataType type, void* out, const MatrixBlock& block, uint64_t seed, float scale,
          cudaStream_t stream);
void gelu_forward(DataType type, void* out, const void* in, size_t count, cudaStream_t stream);
void gelu_backward(DataType type, void* grad_in, const void* grad_out, const void* in, size_t count,
                   cudaStream_t stream);
void add(DataType type, void* out, const void* a, const void* b, size_t count, cudaStream_t stream);
void scaled_difference(DataType type, void* out, const void* a, const void* b, float scale,
                       size_t count, cudaStream_t stream);
void sgd_update(DataType type, void* parameter, const void* gradient, float rate, size_t count,
                cudaStream_t stream);
void gather_rows(DataType type, void* out, const void* in, const int* index, size_t rows,
                 size_t columns, cudaStream_t stream);
void scatter_rows(DataType type, void* out, const void* in, const int* index, size_t rows,
                  size_t columns, cudaStream_t stream);
void to_float(DataType type, float* out, const void* in, size_t count, cudaStream_t stream);
void digest(DataType type, ops::DigestLane* lanes, size_t lane_count, const void* in,
            size_t elements, cudaStream_t stream);

}  // namespace examples
