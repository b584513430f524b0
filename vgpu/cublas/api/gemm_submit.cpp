#include <algorithm>
#include <cstring>
#include <string>

#include "vgpu/cublas/api/context.hpp"
#include "vgpu/cublas/api/gemm_arguments.hpp"
#include "vgpu/cublas/gemm/kernel_choice.hpp"
#include "vgpu/cublas/gemm/types.hpp"

namespace braid::vgpu::cublas {
namespace {

bool is_operation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

bool is_algorithm(int algorithm) {
  return (algorithm >= CUBLAS_GEMM_DEFAULT && algorithm <= CUBLAS_GEMM_ALGO23) ||
         (algorithm >= CUBLAS_GEMM_DEFAULT_TENSOR_OP &&
          algorithm <= CUBLAS_GEMM_ALGO15_TENSOR_OP) ||
         algorithm == 999;  // CUBLAS_GEMM_AUTOTUNE, which older toolkits do not declare
}

cublasStatus_t refuse(const GemmArguments& arguments, const std::string& why) {
  return gemm::fail_call(arguments.function, CUBLAS_STATUS_INVALID_VALUE, why);
}

cublasStatus_t check_sizes(const GemmArguments& arguments) {
  if (!is_operation(arguments.transa) || !is_operation(arguments.transb)) {
    return refuse(arguments, "transa and transb must be CUBLAS_OP_N, _T or _C");
  }
  if (arguments.m < 0 || arguments.n < 0 || arguments.k < 0 || arguments.batch < 0) {
    return refuse(arguments, "m, n, k and the batch count must not be negative");
  }
  const auto check_ld = [&](const char* name, int64_t ld, int64_t rows) {
    return ld >= std::max<int64_t>(1, rows)
               ? CUBLAS_STATUS_SUCCESS
               : refuse(arguments, std::string(name) + " is " + std::to_string(ld) +
                                       ", less than the " + std::to_string(rows) +
                                       " rows of its matrix");
  };
  const bool a_plain = arguments.transa == CUBLAS_OP_N;
  const bool b_plain = arguments.transb == CUBLAS_OP_N;
  if (const auto status = check_ld("lda", arguments.a.ld, a_plain ? arguments.m : arguments.k)) {
    return status;
  }
  if (const auto status = check_ld("ldb", arguments.b.ld, b_plain ? arguments.k : arguments.n)) {
    return status;
  }
  return check_ld("ldc", arguments.c.ld, arguments.m);
}

gemm::Scalar take_scalar(const cublasContext& handle, const void* pointer, cudaDataType type) {
  gemm::Scalar scalar;
  if (handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    scalar.device = pointer;
  } else {
    std::memcpy(scalar.value.data(), pointer, gemm::element_bytes(type));
  }
  return scalar;
}

gemm::Operand operand_of(const GemmArguments& arguments, const GemmMatrix& matrix) {
  return {matrix.base, arguments.pointer_arrays, matrix.ld, matrix.stride, false};
}

}  // namespace

cublasStatus_t submit_gemm(const GemmArguments& arguments) {
  const cublasHandle_t handle = arguments.handle;
  if (const auto status = check_handle(arguments.function, handle)) {
    return status;
  }
  if (const auto status = check_sizes(arguments)) {
    return status;
  }
  if (!gemm::is_known(arguments.compute) || !is_algorithm(arguments.algorithm)) {
    return refuse(arguments, "no such compute type or algorithm");
  }
  const cublasComputeType_t compute =
      gemm::apply_math_mode(arguments.compute, arguments.a.type, handle->math_mode);
  const cudaDataType scale = gemm::scale_type_of(compute);
  if (!gemm::is_supported(compute, scale, arguments.a.type, arguments.b.type, arguments.c.type)) {
    return gemm::fail_call(arguments.function, CUBLAS_STATUS_NOT_SUPPORTED,
                           std::string("A ") + gemm::type_name(arguments.a.type) + ", B " +
                               gemm::type_name(arguments.b.type) + ", C " +
                               gemm::type_name(arguments.c.type) + " with compute type " +
                               std::to_string(arguments.compute));
  }
  if (arguments.m == 0 || arguments.n == 0 || arguments.batch == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (arguments.alpha == nullptr || arguments.beta == nullptr || arguments.c.base == nullptr) {
    return refuse(arguments, "alpha, beta or C is null");
  }
  if (const auto status = check_stream(arguments.function, handle)) {
    return status;
  }

  gemm::GemmCall call;
  call.problem = {.m = arguments.m,
                  .n = arguments.n,
                  .k = arguments.k,
                  .batch = arguments.batch,
                  .transpose_a = arguments.transa != CUBLAS_OP_N,
                  .transpose_b = arguments.transb != CUBLAS_OP_N,
                  .a_type = arguments.a.type,
                  .b_type = arguments.b.type,
                  .c_type = arguments.c.type,
                  .compute = compute,
                  .rounding = gemm::input_rounding(compute, arguments.a.type,
                                                   gemm::compute_capability(handle->device))};
  call.a = operand_of(arguments, arguments.a);
  call.b = operand_of(arguments, arguments.b);
  call.c = operand_of(arguments, arguments.c);
  call.d = call.c;
  call.alpha = take_scalar(*handle, arguments.alpha, scale);
  call.beta = take_scalar(*handle, arguments.beta, scale);
  call.scale_type = scale;
  call.device = handle->device;
  call.stream = handle->stream;
  call.workspace = {handle->workspace, handle->workspace_bytes};
  const gemm::Selection selection{
      .sm_count =
          handle->sm_count_target > 0 ? handle->sm_count_target : gemm::sm_count(handle->device),
      .max_workspace = handle->workspace != nullptr
                           ? handle->workspace_bytes
                           : gemm::default_workspace_bytes(handle->device)};
  const auto ranked = gemm::rank_kernels(call.problem, selection);
  if (ranked.empty()) {
    return gemm::fail_call(arguments.function, CUBLAS_STATUS_NOT_SUPPORTED,
                           "no kernel for these types");
  }
  call.kernel = ranked.front().kernel;
  return gemm::enqueue(call);
}

}  // namespace braid::vgpu::cublas
