// Creating, filling and reading the descriptors of layouts, operations and preferences.
#include "vgpu/cublas/lt/descriptors.hpp"

#include <array>

#include "vgpu/cublas/gemm/types.hpp"
#include "vgpu/cublas/lt/attributes.hpp"

using braid::vgpu::cublaslt::Layout;
using braid::vgpu::cublaslt::MatmulDesc;
using braid::vgpu::cublaslt::Preference;
using braid::vgpu::gemm::fail_call;

namespace {

constexpr std::array kLayoutFields = {
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, columns),
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_LD, Layout, ld),
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batch_count),
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, batch_stride),
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, Layout, plane_offset),
#if CUBLAS_VER_MAJOR >= 13
    BRAID_FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, Layout, batch_mode),
#endif
};

constexpr std::array kMatmulFields = {
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDesc, compute),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDesc, scale_type),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDesc, pointer_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDesc, transa),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDesc, transb),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDesc, transc),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDesc, fill_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDesc, epilogue),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDesc, bias),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDesc, bias_batch_stride),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDesc, aux),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDesc, aux_ld),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDesc, aux_batch_stride),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDesc, alpha_batch_stride),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDesc, sm_count_target),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDesc, a_scale),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDesc, b_scale),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDesc, c_scale),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDesc, d_scale),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDesc, d_amax),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDesc, aux_type),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDesc, aux_scale),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDesc, aux_amax),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDesc, fast_accumulation),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDesc, bias_type),
#if CUBLAS_VER_MAJOR >= 13
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDesc, a_scale_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDesc, b_scale_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDesc, c_scale_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDesc, d_scale_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDesc, aux_scale_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDesc, d_out_scale),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDesc, d_out_scale_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, MatmulDesc, emulation),
#endif
};

constexpr std::array kPreferenceFields = {
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search_mode),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, max_workspace),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reduction_mask),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, min_alignment_a),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, min_alignment_b),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, min_alignment_c),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, min_alignment_d),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, Preference, max_waves),
    BRAID_FIELD(CUBLASLT_MATMUL_PREF_IMPL_MASK, Preference, implementation_mask),
};

Layout make_layout(cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  Layout layout;
  layout.type = static_cast<uint32_t>(type);
  layout.rows = rows;
  layout.columns = columns;
  layout.ld = ld;
  return layout;
}

MatmulDesc make_matmul(cublasComputeType_t compute, cudaDataType_t scale_type) {
  MatmulDesc desc;
  desc.compute = compute;
  desc.scale_type = scale_type;
  return desc;
}

template <typename Opaque>
cublasStatus_t destroy(const char* function, Opaque* opaque) {
  if (opaque == nullptr) {
    return fail_call(function, CUBLAS_STATUS_INVALID_VALUE, "the descriptor is null");
  }
  delete opaque;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

using namespace braid::vgpu::cublaslt;  // NOLINT: the definitions below are cuBLASLt's

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t matLayout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld) {
  return initialise(__func__, matLayout, size, make_layout(type, rows, cols, ld));
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  return create(__func__, matLayout, make_layout(type, rows, cols, ld));
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) {
  return destroy(__func__, matLayout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matLayout,
                                                cublasLtMatrixLayoutAttribute_t attr,
                                                const void* buf, size_t sizeInBytes) {
  return set_attribute(__func__, kLayoutFields, matLayout, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t matLayout,
                                                cublasLtMatrixLayoutAttribute_t attr, void* buf,
                                                size_t sizeInBytes, size_t* sizeWritten) {
  return get_attribute(__func__, kLayoutFields, matLayout, attr, buf, sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t matmulDesc, size_t size,
                                               cublasComputeType_t computeType,
                                               cudaDataType_t scaleType) {
  return initialise(__func__, matmulDesc, size, make_matmul(computeType, scaleType));
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmulDesc,
                                        cublasComputeType_t computeType, cudaDataType_t scaleType) {
  if (!braid::vgpu::gemm::is_known(computeType)) {
    return fail_call(__func__, CUBLAS_STATUS_INVALID_VALUE, "no such compute type");
  }
  return create(__func__, matmulDesc, make_matmul(computeType, scaleType));
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmulDesc) {
  return destroy(__func__, matmulDesc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmulDesc,
                                              cublasLtMatmulDescAttributes_t attr, const void* buf,
                                              size_t sizeInBytes) {
  return set_attribute(__func__, kMatmulFields, matmulDesc, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t matmulDesc,
                                              cublasLtMatmulDescAttributes_t attr, void* buf,
                                              size_t sizeInBytes, size_t* sizeWritten) {
  return get_attribute(__func__, kMatmulFields, matmulDesc, attr, buf, sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t pref, size_t size) {
  return initialise(__func__, pref, size, Preference{});
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  return create(__func__, pref, Preference{});
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  return destroy(__func__, pref);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void* buf, size_t sizeInBytes) {
  return set_attribute(__func__, kPreferenceFields, pref, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t pref,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    void* buf, size_t sizeInBytes,
                                                    size_t* sizeWritten) {
  return get_attribute(__func__, kPreferenceFields, pref, attr, buf, sizeInBytes, sizeWritten);
}
