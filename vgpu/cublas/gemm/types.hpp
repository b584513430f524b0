// Which combinations of types exist, and what arithmetic they mean.
#pragma once

#include <cublas_api.h>

#include <optional>

#include "vgpu/cublas/gemm/problem.hpp"

namespace braid::vgpu::gemm {

/// Arithmetic the accumulators are kept in.
enum class Accumulator { kFloat, kHalf, kDouble, kInt32 };

bool is_known(cublasComputeType_t compute);
bool is_pedantic(cublasComputeType_t compute);
Accumulator accumulator_of(cublasComputeType_t compute);

/// Type of alpha and beta that cublasGemmEx implies for a compute type.
cudaDataType scale_type_of(cublasComputeType_t compute);

/// The table of cublasGemmEx: A, B and C types a compute and scale type goes with.
bool is_supported(cublasComputeType_t compute, cudaDataType scale, cudaDataType a, cudaDataType b,
                  cudaDataType c);

/// The compute type after the handle's math mode had its say: fp32 work moves to TF32 or half
/// tensor cores when the mode allows it and the type is not pedantic.
cublasComputeType_t apply_math_mode(cublasComputeType_t compute, cudaDataType a, cublasMath_t mode);

/// How fp32 operands are rounded on their way to the tensor cores of `compute_capability`.
InputRounding input_rounding(cublasComputeType_t compute, cudaDataType a, int compute_capability);

/// A scalar of `type` as a double (every half, float and int32 is one exactly).
double scalar_value(cudaDataType type, const void* bytes);

/// "CUDA_R_16BF" for messages; "another cudaDataType" for the many no GEMM here takes.
const char* type_name(cudaDataType type);

}  // namespace braid::vgpu::gemm
