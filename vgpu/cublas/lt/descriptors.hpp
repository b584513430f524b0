// What lies in the opaque memory of cuBLASLt's descriptors.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "vgpu/cublas/gemm/handle.hpp"

/// A cuBLASLt context knows its device; a cuBLAS handle is accepted in its place.
struct cublasLtContext : braid::vgpu::gemm::HandleBase {};

namespace braid::vgpu::cublaslt {

struct Layout {
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  int64_t batch_stride = 0;
  int64_t plane_offset = 0;
  uint32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  int32_t batch_count = 1;
  uint32_t batch_mode = 0;  // 0 strided, 1 pointer array
};

struct MatmulDesc {
  const void* bias = nullptr;
  void* aux = nullptr;
  const void* a_scale = nullptr;
  const void* b_scale = nullptr;
  const void* c_scale = nullptr;
  const void* d_scale = nullptr;
  void* d_amax = nullptr;
  void* aux_scale = nullptr;
  void* aux_amax = nullptr;
  void* d_out_scale = nullptr;
  void* emulation = nullptr;
  int64_t bias_batch_stride = 0;
  int64_t aux_ld = 0;
  int64_t aux_batch_stride = 0;
  int64_t alpha_batch_stride = 0;
  int32_t compute = CUBLAS_COMPUTE_32F;
  int32_t scale_type = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N, transc = CUBLAS_OP_N;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t sm_count_target = 0;
  int32_t aux_type = -1;
  int32_t bias_type = -1;
  int32_t a_scale_mode = 0, b_scale_mode = 0, c_scale_mode = 0, d_scale_mode = 0;
  int32_t aux_scale_mode = 0, d_out_scale_mode = 0;
  int8_t fast_accumulation = 0;
};

struct Preference {
  uint64_t max_workspace = 0;
  uint64_t implementation_mask = ~uint64_t{0};
  uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT;
  uint32_t reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t min_alignment_a = 256, min_alignment_b = 256;
  uint32_t min_alignment_c = 256, min_alignment_d = 256;
  float max_waves = 0;
};

struct Algorithm {
  static constexpr uint32_t kInitialised = 0xa190a190U;
  uint32_t state = 0;
  int32_t id = 0;
  uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  int32_t split_k = 1;
  uint32_t reduction_scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
  uint32_t cta_swizzling = 0;
  uint32_t custom_option = 0;
  uint32_t stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  uint16_t inner_shape = 0;
  uint16_t cluster_shape = 0;
  // What cublasLtMatmulAlgoInit was asked for.
  uint16_t compute = 0, scale_type = 0, a_type = 0, b_type = 0, c_type = 0, d_type = 0;
};

}  // namespace braid::vgpu::cublaslt
