// cublasLtMatmul.
#include <cstring>
#include <string>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cublas/gemm/log.hpp"
#include "vgpu/cublas/gemm/types.hpp"
#include "vgpu/cublas/lt/attributes.hpp"
#include "vgpu/cublas/lt/operation.hpp"

using braid::vgpu::gemm::fail_call;
namespace gemm = braid::vgpu::gemm;

namespace {

gemm::Scalar take_scalar(const void* pointer, int32_t pointer_mode, cudaDataType type) {
  gemm::Scalar scalar;
  if (pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
    scalar.device = pointer;
  } else {
    std::memcpy(scalar.value.data(), pointer, gemm::element_bytes(type));
  }
  return scalar;
}

/// Pointers the operation needs whatever its scalars are.
const char* missing_pointer(const gemm::GemmCall& call, uint32_t epilogue) {
  const bool has_bias = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  if (has_bias && call.epilogue.bias == nullptr) {
    return "the epilogue needs a bias pointer";
  }
  if (call.epilogue.gradient != gemm::Epilogue::Gradient::kNone &&
      call.epilogue.bias_gradient == nullptr) {
    return "the epilogue needs a bias gradient pointer";
  }
  if ((epilogue & 128U) != 0 && call.epilogue.aux == nullptr) {
    return "the epilogue needs an auxiliary pointer";
  }
  return nullptr;
}

}  // namespace

using namespace braid::vgpu::cublaslt;  // NOLINT: the definition below is cuBLASLt's

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                              const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta,
                              const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  const auto invalid = [](const std::string& why) {
    return fail_call("cublasLtMatmul", CUBLAS_STATUS_INVALID_VALUE, why);
  };
  gemm::GemmCall call;
  if (const auto status =
          make_call(__func__, lightHandle, {computeDesc, Adesc, Bdesc, Cdesc, Ddesc}, call)) {
    return status;
  }
  const auto desc = load<MatmulDesc>(computeDesc);
  if (alpha == nullptr || beta == nullptr || A == nullptr || B == nullptr || D == nullptr) {
    return invalid("alpha, beta, A, B or D is null");
  }
  if (const char* missing = missing_pointer(call, desc.epilogue)) {
    return invalid(missing);
  }
  if (reinterpret_cast<uintptr_t>(workspace) % 16 != 0) {
    return invalid("the workspace is not aligned to 16 bytes");
  }
  call.alpha = take_scalar(alpha, desc.pointer_mode, call.scale_type);
  call.beta = take_scalar(beta, desc.pointer_mode, call.scale_type);
  const bool beta_is_zero = call.beta.device == nullptr &&
                            gemm::scalar_value(call.scale_type, call.beta.value.data()) == 0;
  if (C == nullptr && !beta_is_zero) {
    return invalid("C is null and beta is not zero");
  }
  call.a.base = A;
  call.b.base = B;
  call.c.base = C;
  call.d.base = D;
  call.stream = stream;
  const int device = braid::vgpu::device_of(stream);
  if (device != call.device) {
    return fail_call(__func__, CUBLAS_STATUS_EXECUTION_FAILED,
                     device < 0 ? "the stream does not exist"
                                : "the handle belongs to device " + std::to_string(call.device) +
                                      ", the stream to device " + std::to_string(device));
  }
  call.workspace = {workspace, workspace == nullptr ? 0 : workspaceSizeInBytes};
  if (algo != nullptr) {
    if (const auto status = kernel_from(__func__, load<Algorithm>(algo), call, call.kernel)) {
      return status;
    }
    const size_t needed = gemm::workspace_bytes(call.problem, call.kernel);
    if (needed > call.workspace.bytes) {
      return invalid("the algorithm needs " + std::to_string(needed) + " bytes of workspace, " +
                     std::to_string(call.workspace.bytes) + " are given");
    }
  } else {
    Preference preference;
    preference.max_workspace = call.workspace.bytes;
    const auto ranked = search(call, sm_count_of(call, desc), preference, -1);
    if (ranked.empty()) {
      return fail_call(__func__, CUBLAS_STATUS_NOT_SUPPORTED, "no kernel for these types");
    }
    call.kernel = ranked.front().kernel;
  }
  return gemm::enqueue(call);
}
