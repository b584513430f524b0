// The exported cuBLAS entry points frameworks use for GEMMs. Thin: what is done with a GEMM is in
// gemm_call.cpp.
#include <cublasLt.h>
#include <cublas_v2.h>

#include "interposer/hooks/gemm_call.hpp"
#include "interposer/process_state.hpp"
#include "interposer/real_library.hpp"

#define BRAID_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace braid::interposer;  // NOLINT: a file of exported wrappers

// Tells the entry points apart in the pair learner's key.
enum EntryPoint : uint32_t { kGemmEx = 1, kSgemm, kDgemm, kHgemm };

// The plain GEMMs: one type throughout. `Index` is int or int64_t.
template <typename Element, typename Index>
using PlainGemm = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Index, Index,
                                 Index, const Element*, const Element*, Index, const Element*,
                                 Index, const Element*, Element*, Index);

template <typename Element, typename Index>
cublasStatus_t plain_gemm(RealFunction<PlainGemm<Element, Index>>& real, EntryPoint entry,
                          cudaDataType_t type, const void* return_address, cublasHandle_t handle,
                          cublasOperation_t transa, cublasOperation_t transb, Index m, Index n,
                          Index k, const Element* alpha, const Element* a, Index lda,
                          const Element* b, Index ldb, const Element* beta, Element* c, Index ldc) {
  auto* function = real.get(return_address);
  if (function == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!should_intercept()) {
    return function(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  const GemmCall call{handle, m,
                      n,      k,
                      transa, transb,
                      a,      b,
                      c,      lda,
                      ldb,    ldc,
                      type,   type,
                      type,   alpha,
                      beta,   sizeof(Element),
                      entry,  return_address};
  return carry_out_gemm(call, [&](int64_t, int64_t count, const void* part_b, void* part_c) {
    return function(handle, transa, transb, m, static_cast<Index>(count), k, alpha, a, lda,
                    static_cast<const Element*>(part_b), ldb, beta, static_cast<Element*>(part_c),
                    ldc);
  });
}

template <typename Index>
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Index, Index,
                              Index, const void*, const void*, cudaDataType, Index, const void*,
                              cudaDataType, Index, const void*, void*, cudaDataType, Index,
                              cublasComputeType_t, cublasGemmAlgo_t);

template <typename Index>
cublasStatus_t gemm_ex(RealFunction<GemmEx<Index>>& real, const void* return_address,
                       cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                       Index m, Index n, Index k, const void* alpha, const void* a,
                       cudaDataType type_a, Index lda, const void* b, cudaDataType type_b,
                       Index ldb, const void* beta, void* c, cudaDataType type_c, Index ldc,
                       cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  auto* function = real.get(return_address);
  if (function == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!should_intercept()) {
    return function(handle, transa, transb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
                    type_c, ldc, compute, algorithm);
  }
  // Scalars have the compute type; the widest is assumed for their extent.
  const GemmCall call{handle,  m,
                      n,       k,
                      transa,  transb,
                      a,       b,
                      c,       lda,
                      ldb,     ldc,
                      type_a,  type_b,
                      type_c,  alpha,
                      beta,    sizeof(double) * 2,
                      kGemmEx, return_address};
  return carry_out_gemm(call, [&](int64_t, int64_t count, const void* part_b, void* part_c) {
    return function(handle, transa, transb, m, static_cast<Index>(count), k, alpha, a, type_a, lda,
                    part_b, type_b, ldb, beta, part_c, type_c, ldc, compute, algorithm);
  });
}

// A GEMM that is never cut: forwards and notes it.
template <typename Function, typename... Arguments>
cublasStatus_t whole_gemm(Function* function, WholeGemm gemm, cublasHandle_t handle,
                          Arguments... arguments) {
  if (function == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!should_intercept()) {
    return function(handle, arguments...);
  }
  gemm.stream = stream_of(handle);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  {
    RealCallGuard guard;
    status = function(handle, arguments...);
  }
  if (status == CUBLAS_STATUS_SUCCESS) {
    note_whole_gemm(gemm);
  }
  return status;
}

// cuBLAS's C++ header overloads these names, so their types are written out.
template <typename Index>
using StridedGemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, Index,
                                     Index, Index, const void*, const void*, cudaDataType, Index,
                                     long long int, const void*, cudaDataType, Index, long long int,
                                     const void*, void*, cudaDataType, Index, long long int, Index,
                                     cublasComputeType_t, cublasGemmAlgo_t);
using BatchedGemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                     int, const void*, const void* const[], cudaDataType, int,
                                     const void* const[], cudaDataType, int, const void*,
                                     void* const[], cudaDataType, int, int, cublasComputeType_t,
                                     cublasGemmAlgo_t);

template <typename Index>
WholeGemm describe(Index m, Index n, Index k, Index batch, cudaDataType_t type,
                   cudaDataType_t output_type, const void* c, const void* return_address) {
  WholeGemm gemm;
  gemm.m = static_cast<uint64_t>(m);
  gemm.n = static_cast<uint64_t>(n);
  gemm.k = static_cast<uint64_t>(k);
  gemm.batch = static_cast<uint64_t>(batch);
  gemm.type = type;
  gemm.output_type = output_type;
  gemm.c = c;
  gemm.return_address = return_address;
  return gemm;
}

}  // namespace

#define BRAID_PLAIN_GEMM(name, entry, Element, Index, type)                                        \
  BRAID_EXPORT cublasStatus_t name(                                                                \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Index m, Index n, \
      Index k, const Element* alpha, const Element* A, Index lda, const Element* B, Index ldb,     \
      const Element* beta, Element* C, Index ldc) {                                                \
    static RealFunction<PlainGemm<Element, Index>> real(Library::kCublas, #name);                  \
    return plain_gemm<Element, Index>(real, entry, type, __builtin_return_address(0), handle,      \
                                      transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C,     \
                                      ldc);                                                        \
  }

BRAID_PLAIN_GEMM(cublasSgemm_v2, kSgemm, float, int, CUDA_R_32F)
BRAID_PLAIN_GEMM(cublasSgemm_v2_64, kSgemm, float, int64_t, CUDA_R_32F)
BRAID_PLAIN_GEMM(cublasDgemm_v2, kDgemm, double, int, CUDA_R_64F)
BRAID_PLAIN_GEMM(cublasDgemm_v2_64, kDgemm, double, int64_t, CUDA_R_64F)
BRAID_PLAIN_GEMM(cublasHgemm, kHgemm, __half, int, CUDA_R_16F)
BRAID_PLAIN_GEMM(cublasHgemm_64, kHgemm, __half, int64_t, CUDA_R_16F)

#define BRAID_GEMM_EX(name, Index)                                                                 \
  BRAID_EXPORT cublasStatus_t name(                                                                \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Index m, Index n, \
      Index k, const void* alpha, const void* A, cudaDataType Atype, Index lda, const void* B,     \
      cudaDataType Btype, Index ldb, const void* beta, void* C, cudaDataType Ctype, Index ldc,     \
      cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                                    \
    static RealFunction<GemmEx<Index>> real(Library::kCublas, #name);                              \
    return gemm_ex<Index>(real, __builtin_return_address(0), handle, transa, transb, m, n, k,      \
                          alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, computeType,   \
                          algo);                                                                   \
  }

BRAID_GEMM_EX(cublasGemmEx, int)
BRAID_GEMM_EX(cublasGemmEx_64, int64_t)

#define BRAID_STRIDED_EX(name, Index)                                                              \
  BRAID_EXPORT cublasStatus_t name(                                                                \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Index m, Index n, \
      Index k, const void* alpha, const void* A, cudaDataType Atype, Index lda,                    \
      long long int strideA, const void* B, cudaDataType Btype, Index ldb, long long int strideB,  \
      const void* beta, void* C, cudaDataType Ctype, Index ldc, long long int strideC,             \
      Index batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                  \
    static RealFunction<StridedGemmEx<Index>> real(Library::kCublas, #name);                       \
    return whole_gemm(                                                                             \
        real.get(__builtin_return_address(0)),                                                     \
        describe<Index>(m, n, k, batchCount, Atype, Ctype, C, __builtin_return_address(0)),        \
        handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB,    \
        beta, C, Ctype, ldc, strideC, batchCount, computeType, algo);                              \
  }

BRAID_STRIDED_EX(cublasGemmStridedBatchedEx, int)
BRAID_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)

#define BRAID_STRIDED(name, Element, type)                                                        \
  BRAID_EXPORT cublasStatus_t name(                                                               \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,    \
      int k, const Element* alpha, const Element* A, int lda, long long int strideA,              \
      const Element* B, int ldb, long long int strideB, const Element* beta, Element* C, int ldc, \
      long long int strideC, int batchCount) {                                                    \
    static RealFunction<decltype(::name)> real(Library::kCublas, #name);                          \
    return whole_gemm(                                                                            \
        real.get(),                                                                               \
        describe<int>(m, n, k, batchCount, type, type, C, __builtin_return_address(0)), handle,   \
        transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,  \
        batchCount);                                                                              \
  }

BRAID_STRIDED(cublasSgemmStridedBatched, float, CUDA_R_32F)
BRAID_STRIDED(cublasDgemmStridedBatched, double, CUDA_R_64F)
BRAID_STRIDED(cublasHgemmStridedBatched, __half, CUDA_R_16F)

BRAID_EXPORT cublasStatus_t
cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                    int m, int n, int k, const void* alpha, const void* const Aarray[],
                    cudaDataType Atype, int lda, const void* const Barray[], cudaDataType Btype,
                    int ldb, const void* beta, void* const Carray[], cudaDataType Ctype, int ldc,
                    int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  static RealFunction<BatchedGemmEx> real(Library::kCublas, "cublasGemmBatchedEx");
  return whole_gemm(
      real.get(__builtin_return_address(0)),
      describe<int>(m, n, k, batchCount, Atype, Ctype, nullptr, __builtin_return_address(0)),
      handle, transa, transb, m, n, k, alpha, Aarray, Atype, lda, Barray, Btype, ldb, beta, Carray,
      Ctype, ldc, batchCount, computeType, algo);
}

BRAID_EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace,
                                                  size_t workspaceSizeInBytes) {
  static RealFunction<decltype(::cublasSetWorkspace_v2)> real(Library::kCublas,
                                                              "cublasSetWorkspace_v2");
  auto* function = real.get(__builtin_return_address(0));
  if (function == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const cublasStatus_t status = function(handle, workspace, workspaceSizeInBytes);
  if (should_intercept() && status == CUBLAS_STATUS_SUCCESS) {
    note_workspace(handle, workspace, workspaceSizeInBytes);
  }
  return status;
}

namespace {

struct LtShape {
  uint64_t rows = 0, columns = 0;
  int32_t batch = 1;
  cudaDataType_t type = CUDA_R_32F;
};

// A layout's shape as cuBLASLt itself tells it.
LtShape shape_of(cublasLtMatrixLayout_t layout) {
  using Get = cublasStatus_t(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, void*, size_t,
                             size_t*);
  static RealFunction<Get> real(Library::kCublasLt, "cublasLtMatrixLayoutGetAttribute");
  LtShape shape;
  auto* get = real.get();
  if (get == nullptr || layout == nullptr) {
    return shape;
  }
  size_t written = 0;
  uint32_t type = 0;
  get(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &shape.rows, sizeof(shape.rows), &written);
  get(layout, CUBLASLT_MATRIX_LAYOUT_COLS, &shape.columns, sizeof(shape.columns), &written);
  get(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &shape.batch, sizeof(shape.batch), &written);
  get(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof(type), &written);
  shape.type = static_cast<cudaDataType_t>(type);
  return shape;
}

uint32_t epilogue_of(cublasLtMatmulDesc_t description, bool* a_transposed) {
  using Get =
      cublasStatus_t(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, void*, size_t, size_t*);
  static RealFunction<Get> real(Library::kCublasLt, "cublasLtMatmulDescGetAttribute");
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t transpose = CUBLAS_OP_N;
  size_t written = 0;
  if (auto* get = real.get(); get != nullptr && description != nullptr) {
    get(description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue), &written);
    get(description, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof(transpose), &written);
  }
  *a_transposed = transpose != CUBLAS_OP_N;
  return epilogue;
}

}  // namespace

BRAID_EXPORT cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void* alpha,
    const void* A, cublasLtMatrixLayout_t Adesc, const void* B, cublasLtMatrixLayout_t Bdesc,
    const void* beta, const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
    cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo, void* workspace,
    size_t workspaceSizeInBytes, cudaStream_t stream) {
  static RealFunction<decltype(::cublasLtMatmul)> real(Library::kCublasLt, "cublasLtMatmul");
  auto* function = real.get(__builtin_return_address(0));
  if (function == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const bool intercept = should_intercept();
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  {
    RealCallGuard guard;
    status = function(lightHandle, computeDesc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc,
                      algo, workspace, workspaceSizeInBytes, stream);
  }
  if (intercept && status == CUBLAS_STATUS_SUCCESS) {
    RealCallGuard guard;
    const LtShape a = shape_of(Adesc);
    const LtShape d = shape_of(Ddesc);
    WholeGemm gemm;
    bool a_transposed = false;
    gemm.epilogue = epilogue_of(computeDesc, &a_transposed);
    gemm.stream = reinterpret_cast<CUstream>(stream);
    gemm.m = d.rows;
    gemm.n = d.columns;
    gemm.k = a_transposed ? a.rows : a.columns;
    gemm.batch = static_cast<uint64_t>(d.batch);
    gemm.type = a.type;
    gemm.output_type = d.type;
    gemm.c = D;
    gemm.return_address = __builtin_return_address(0);
    note_whole_gemm(gemm);
  }
  return status;
}
