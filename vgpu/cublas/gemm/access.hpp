// Which memory a GEMM touches, and whether its device may.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::gemm {

/// Bytes from the first to past the last element of a stored matrix of `columns` columns of `rows`
/// elements; nothing when it has none, SIZE_MAX when that is more than an address space.
size_t matrix_bytes(int64_t rows, int64_t columns, int64_t ld, size_t element);

/// Address of batch `index`'s matrix. A pointer array is read from device memory.
const void* matrix_of(const Operand& operand, cudaDataType type, int64_t index);

/// The first access of the call that its device would fault on, as CUDA reports it, or
/// CUDA_SUCCESS. A and B count only with `reads_factors`, C only with `reads_c` (alpha or beta is
/// not zero). With `reads_memory` false (payloads are not computed), pointer arrays are not
/// followed.
CUresult check_operands(const GemmCall& call, bool reads_factors, bool reads_c, bool reads_memory);

}  // namespace braid::vgpu::gemm
