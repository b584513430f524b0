// Algorithms: ids, configuration, capabilities, checks and the heuristic search.
#include <algorithm>
#include <array>
#include <vector>

#include "vgpu/cublas/gemm/log.hpp"
#include "vgpu/cublas/gemm/types.hpp"
#include "vgpu/cublas/lt/attributes.hpp"
#include "vgpu/cublas/lt/operation.hpp"

using braid::vgpu::cublaslt::Algorithm;
using braid::vgpu::gemm::fail_call;
namespace gemm = braid::vgpu::gemm;

namespace {

constexpr std::array kConfigFields = {
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_ID, Algorithm, id),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_TILE_ID, Algorithm, tile),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, Algorithm, split_k),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, Algorithm, reduction_scheme),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, Algorithm, cta_swizzling),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, Algorithm, custom_option),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_STAGES_ID, Algorithm, stages),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, Algorithm, inner_shape),
    BRAID_FIELD(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, Algorithm, cluster_shape),
};

/// Types as the algorithm functions take them.
struct Types {
  cublasComputeType_t compute;
  cudaDataType scale, a, b, c, d;
};

bool is_supported(const Types& types) {
  return types.c == types.d &&
         gemm::is_supported(types.compute, types.scale, types.a, types.b, types.d);
}

Algorithm make_algorithm(int id, const Types& types) {
  Algorithm algorithm;
  algorithm.state = Algorithm::kInitialised;
  algorithm.id = id;
  algorithm.compute = static_cast<uint16_t>(types.compute);
  algorithm.scale_type = static_cast<uint16_t>(types.scale);
  algorithm.a_type = static_cast<uint16_t>(types.a);
  algorithm.b_type = static_cast<uint16_t>(types.b);
  algorithm.c_type = static_cast<uint16_t>(types.c);
  algorithm.d_type = static_cast<uint16_t>(types.d);
  return algorithm;
}

void describe(const gemm::GemmCall& call, const gemm::RankedKernel& entry,
              cublasLtMatmulHeuristicResult_t& result) {
  const gemm::Problem& problem = call.problem;
  Algorithm algorithm =
      make_algorithm(entry.kernel.algorithm, {problem.compute, call.scale_type, problem.a_type,
                                              problem.b_type, problem.c_type, problem.c_type});
  algorithm.tile = static_cast<uint32_t>(entry.kernel.tile);
  algorithm.stages = static_cast<uint32_t>(entry.kernel.stages);
  algorithm.split_k = entry.kernel.split_k;
  algorithm.reduction_scheme = entry.kernel.split_k > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                                        : CUBLASLT_REDUCTION_SCHEME_NONE;
  result = {};
  braid::vgpu::cublaslt::store(&result.algo, algorithm);
  result.workspaceSize = gemm::workspace_bytes(problem, entry.kernel);
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = static_cast<float>(entry.waves);
}

}  // namespace

using namespace braid::vgpu::cublaslt;  // NOLINT: the definitions below are cuBLASLt's

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
    cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
    cublasLtMatmulPreference_t preference, int requestedAlgoCount,
    cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int* returnAlgoCount) {
  if (preference == nullptr || heuristicResultsArray == nullptr || returnAlgoCount == nullptr ||
      requestedAlgoCount <= 0) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                     "no preference, no place for results, or none asked for");
  }
  *returnAlgoCount = 0;
  gemm::GemmCall call;
  if (const auto status =
          make_call(__func__, lightHandle, {operationDesc, Adesc, Bdesc, Cdesc, Ddesc}, call)) {
    return status;
  }
  const auto limits = load<Preference>(preference);
  int only_algorithm = -1;
  if (limits.search_mode == CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID) {
    const auto given = load<Algorithm>(&heuristicResultsArray[0].algo);
    if (given.state != Algorithm::kInitialised) {
      return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                       "the search is limited to an algorithm that was not initialised");
    }
    only_algorithm = given.id;
  } else if (limits.search_mode != CUBLASLT_SEARCH_BEST_FIT) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no such search mode");
  }
  const int sms = sm_count_of(call, load<MatmulDesc>(operationDesc));
  const auto ranked = search(call, sms, limits, only_algorithm);
  if (ranked.empty()) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_SUPPORTED, "no kernel satisfies the preference");
  }
  const auto count = std::min(ranked.size(), static_cast<size_t>(requestedAlgoCount));
  for (size_t i = 0; i < count; ++i) {
    describe(call, ranked[i], heuristicResultsArray[i]);
  }
  *returnAlgoCount = static_cast<int>(count);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle,
                                        cublasComputeType_t computeType, cudaDataType_t scaleType,
                                        cudaDataType_t Atype, cudaDataType_t Btype,
                                        cudaDataType_t Ctype, cudaDataType_t Dtype,
                                        int requestedAlgoCount, int algoIdsArray[],
                                        int* returnAlgoCount) {
  if (!gemm::is_alive(lightHandle)) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_INITIALIZED,
                     "the handle is null or was destroyed");
  }
  if (requestedAlgoCount <= 0 || algoIdsArray == nullptr || returnAlgoCount == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no place for results, or none asked");
  }
  if (!is_supported({computeType, scaleType, Atype, Btype, Ctype, Dtype})) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_SUPPORTED, "no algorithm for these types");
  }
  int count = 0;
  for (const gemm::Family& family : gemm::families()) {
    if (count < requestedAlgoCount && gemm::serves(family, computeType, Atype)) {
      algoIdsArray[count++] = family.id;
    }
  }
  *returnAlgoCount = count;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
                                      cudaDataType_t scaleType, cudaDataType_t Atype,
                                      cudaDataType_t Btype, cudaDataType_t Ctype,
                                      cudaDataType_t Dtype, int algoId,
                                      cublasLtMatmulAlgo_t* algo) {
  if (!gemm::is_alive(lightHandle)) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_INITIALIZED,
                     "the handle is null or was destroyed");
  }
  const gemm::Family* family = gemm::find_family(algoId);
  if (algo == nullptr || family == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                     "no algorithm " + std::to_string(algoId) + ", or no place for it");
  }
  const Types types{computeType, scaleType, Atype, Btype, Ctype, Dtype};
  if (!is_supported(types) || !gemm::serves(*family, computeType, Atype)) {
    return fail_call(__func__, CUBLAS_STATUS_NOT_SUPPORTED,
                     "algorithm " + std::to_string(algoId) + " for these types");
  }
  store(algo, make_algorithm(algoId, types));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle,
                                       cublasLtMatmulDesc_t operationDesc,
                                       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algo == nullptr || result == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the algorithm or the result is null");
  }
  gemm::GemmCall call;
  if (const auto status =
          make_call(__func__, lightHandle, {operationDesc, Adesc, Bdesc, Cdesc, Ddesc}, call)) {
    return status;
  }
  gemm::KernelChoice kernel;
  if (const auto status = kernel_from(__func__, load<Algorithm>(algo), call, kernel)) {
    return status;
  }
  result->workspaceSize = gemm::workspace_bytes(call.problem, kernel);
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = static_cast<float>(
      gemm::wave_count(call.problem, kernel, sm_count_of(call, load<MatmulDesc>(operationDesc))));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    const void* buf, size_t sizeInBytes) {
  if (attr == CUBLASLT_ALGO_CONFIG_ID) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the algorithm id is read-only");
  }
  return set_attribute(__func__, kConfigFields, algo, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    void* buf, size_t sizeInBytes,
                                                    size_t* sizeWritten) {
  return get_attribute(__func__, kConfigFields, algo, attr, buf, sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                 cublasLtMatmulAlgoCapAttributes_t attr, void* buf,
                                                 size_t sizeInBytes, size_t* sizeWritten) {
  if (algo == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the algorithm is null");
  }
  const auto algorithm = load<Algorithm>(algo);
  const gemm::Family* family = gemm::find_family(algorithm.id);
  if (algorithm.state != Algorithm::kInitialised || family == nullptr) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "the algorithm was not initialised");
  }
  const auto give = [&](const auto& value) {
    return give_bytes("cublasLtMatmulAlgoCapGetAttribute", &value, sizeof value, buf, sizeInBytes,
                      sizeWritten);
  };
  const auto list = [&](auto member) {
    std::vector<uint32_t> values;
    for (const gemm::Tile& tile : family->tiles) {
      const auto value = static_cast<uint32_t>(tile.*member);
      if (std::find(values.begin(), values.end(), value) == values.end()) {
        values.push_back(value);
      }
    }
    // A list may be asked for with a larger buffer, as the header's own example does.
    const size_t bytes = values.size() * sizeof(uint32_t);
    return give_bytes("cublasLtMatmulAlgoCapGetAttribute", values.data(), bytes, buf,
                      sizeInBytes > bytes ? bytes : sizeInBytes, sizeWritten);
  };
  const bool integers = algorithm.d_type == CUDA_R_32I;
  const uint32_t all_epilogues = 1023;  // every bit of cublasLtEpilogue_t
  const auto element =
      static_cast<uint32_t>(gemm::element_bytes(static_cast<cudaDataType>(algorithm.a_type)));
  switch (static_cast<int>(attr)) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
      return give(int32_t{integers ? 0 : 1});
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
      return give(uint32_t{integers ? 0U : uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}});
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
      return give(uint32_t{1});
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
      return give(int32_t{1});
    case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
    case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
    case CUBLASLT_ALGO_CAP_LD_NEGATIVE:
      return give(int32_t{0});
    case CUBLASLT_ALGO_CAP_TILE_IDS:
      return list(&gemm::Tile::id);
    case CUBLASLT_ALGO_CAP_STAGES_IDS:
      return list(&gemm::Tile::stages);
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
      return give(uint32_t{CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE});
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
      return give(integers ? uint32_t{CUBLASLT_EPILOGUE_DEFAULT} : all_epilogues);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return give(implementation_flags(*family, static_cast<cublasComputeType_t>(algorithm.compute),
                                       static_cast<cudaDataType>(algorithm.a_type)));
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
      return give(element);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      return give(
          static_cast<uint32_t>(gemm::element_bytes(static_cast<cudaDataType>(algorithm.d_type))));
#if CUBLAS_VER_MAJOR >= 13
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT:
      return give(int32_t{1});
    case CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT:
      return give(int32_t{0});
#endif
    default:
      return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE,
                       "no attribute " + std::to_string(attr));
  }
}
