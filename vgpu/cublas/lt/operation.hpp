// From cuBLASLt's descriptors to the form shared with cuBLAS.
#pragma once

#include <cublasLt.h>

#include <vector>

#include "vgpu/cublas/gemm/kernel_choice.hpp"
#include "vgpu/cublas/gemm/problem.hpp"
#include "vgpu/cublas/lt/descriptors.hpp"

namespace braid::vgpu::cublaslt {

/// Descriptors of one operation, as the entry points take them.
struct Descriptors {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, c, d;
};

/// Checks that the descriptors fit together and fills all of a call but pointers and scalars:
/// INVALID_VALUE for a contradiction, NOT_SUPPORTED for what virtual GPUs (or cuBLASLt) cannot do.
cublasStatus_t make_call(const char* function, cublasLtHandle_t handle,
                         const Descriptors& descriptors, gemm::GemmCall& call);

/// SMs the operation may count on.
int sm_count_of(const gemm::GemmCall& call, const MatmulDesc& desc);

/// Numerical implementation flags (cublasLtNumericalImplFlags_t) of a family for these types.
uint64_t implementation_flags(const gemm::Family& family, cublasComputeType_t compute,
                              cudaDataType a_type);

/// The algorithm as a kernel for this call; NOT_SUPPORTED for a configuration no kernel has.
cublasStatus_t kernel_from(const char* function, const Algorithm& algorithm,
                           const gemm::GemmCall& call, gemm::KernelChoice& kernel);

/// Kernels that satisfy a preference, the best first.
std::vector<gemm::RankedKernel> search(const gemm::GemmCall& call, int sm_count,
                                       const Preference& preference, int only_algorithm);

}  // namespace braid::vgpu::cublaslt
