#include "vgpu/cublas/lt/operation.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "vgpu/cublas/gemm/log.hpp"
#include "vgpu/cublas/gemm/types.hpp"
#include "vgpu/cublas/lt/attributes.hpp"

namespace braid::vgpu::cublaslt {
namespace {

using gemm::Activation;
using gemm::Epilogue;

struct Refusal {
  const char* function;
  cublasStatus_t invalid(const std::string& why) const {
    return gemm::fail_call(function, CUBLAS_STATUS_INVALID_VALUE, why);
  }
  cublasStatus_t unsupported(const std::string& why) const {
    return gemm::fail_call(function, CUBLAS_STATUS_NOT_SUPPORTED, why);
  }
};

bool is_row_major(const Layout& layout) { return layout.order == CUBLASLT_ORDER_ROW; }

cublasStatus_t check_layout(const Refusal& refuse, const char* name, const Layout& layout) {
  const std::string matrix = std::string("matrix ") + name;
  if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW) {
    return refuse.unsupported(matrix + " is neither in column nor in row order");
  }
  if (layout.plane_offset != 0) {
    return refuse.unsupported(matrix + " is planar complex");
  }
  if (layout.batch_mode > 1 || layout.batch_count < 0) {
    return refuse.invalid(matrix + " has no valid batch count or mode");
  }
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  if (layout.rows > kMost || layout.columns > kMost) {
    return refuse.unsupported(matrix + " has more than 2^31 - 1 rows or columns");
  }
  const uint64_t least = is_row_major(layout) ? layout.columns : layout.rows;
  if (layout.ld < 0 || static_cast<uint64_t>(layout.ld) < least) {
    return refuse.invalid(matrix + " has leading dimension " + std::to_string(layout.ld) +
                          ", expected at least " + std::to_string(least));
  }
  return CUBLAS_STATUS_SUCCESS;
}

gemm::Operand operand_of(const Layout& layout, bool keeps_order) {
  gemm::Operand operand;
  operand.pointer_array = layout.batch_mode == 1;
  operand.ld = std::max<int64_t>(1, layout.ld);
  operand.batch_stride = layout.batch_stride;
  operand.row_major = keeps_order && is_row_major(layout);
  return operand;
}

/// Scaling of narrow types, which none of the supported types knows.
cublasStatus_t check_scaling(const Refusal& refuse, const MatmulDesc& desc) {
  if (desc.a_scale_mode != 0 || desc.b_scale_mode != 0 || desc.c_scale_mode != 0 ||
      desc.d_scale_mode != 0 || desc.aux_scale_mode != 0 || desc.d_out_scale_mode != 0) {
    return refuse.unsupported("block and vector scaling modes");
  }
  if (desc.a_scale != nullptr || desc.b_scale != nullptr || desc.c_scale != nullptr ||
      desc.d_scale != nullptr || desc.d_amax != nullptr || desc.aux_scale != nullptr ||
      desc.aux_amax != nullptr || desc.d_out_scale != nullptr) {
    return refuse.invalid("a scale or amax pointer is set, which these types do not take");
  }
  return CUBLAS_STATUS_SUCCESS;
}

bool split_epilogue(uint32_t value, Epilogue& epilogue, bool& has_bias, bool& has_aux) {
  has_bias = (value & CUBLASLT_EPILOGUE_BIAS) != 0;
  switch (value) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_BIAS:
      break;
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
      epilogue.activation = Activation::kRelu;
      break;
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
      epilogue.activation = Activation::kGelu;
      break;
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
      epilogue.activation = Activation::kReluGradient;
      break;
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
      epilogue.activation = Activation::kGeluGradient;
      break;
    case CUBLASLT_EPILOGUE_BGRADA:
      epilogue.gradient = Epilogue::Gradient::kOfA;
      break;
    case CUBLASLT_EPILOGUE_BGRADB:
      epilogue.gradient = Epilogue::Gradient::kOfB;
      break;
    default:
      return false;
  }
  if (value == CUBLASLT_EPILOGUE_DRELU_BGRAD || value == CUBLASLT_EPILOGUE_DGELU_BGRAD) {
    epilogue.gradient = Epilogue::Gradient::kOfD;
  }
  has_aux = (value & 128U) != 0;  // the bit all *_AUX and gradient epilogues share
  return true;
}

cublasStatus_t make_epilogue(const Refusal& refuse, const MatmulDesc& desc, const Layout& d,
                             gemm::GemmCall& call) {
  Epilogue& epilogue = call.epilogue;
  bool has_bias = false, has_aux = false;
  if (!split_epilogue(desc.epilogue, epilogue, has_bias, has_aux)) {
    return refuse.invalid("no epilogue " + std::to_string(desc.epilogue));
  }
  if (desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (call.problem.c_type == CUDA_R_32I || d.batch_mode == 1) {
    return refuse.unsupported("an epilogue with integer results or a batch of pointers");
  }
  const auto type_or = [&](int32_t type) {
    return type < 0 ? call.problem.c_type : static_cast<cudaDataType>(type);
  };
  if (has_bias || epilogue.gradient != Epilogue::Gradient::kNone) {
    epilogue.bias_type = type_or(desc.bias_type);
    epilogue.bias_batch_stride = desc.bias_batch_stride;
    if (epilogue.bias_type != call.problem.c_type) {
      return refuse.unsupported("a bias of another type than D");
    }
    epilogue.bias = has_bias ? desc.bias : nullptr;
    epilogue.bias_gradient = has_bias ? nullptr : const_cast<void*>(desc.bias);
  }
  if (!has_aux) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const bool bit_mask =
      epilogue.activation == Activation::kRelu || epilogue.activation == Activation::kReluGradient;
  epilogue.aux_type = type_or(desc.aux_type);
  epilogue.aux = desc.aux;
  epilogue.aux_ld = desc.aux_ld;
  epilogue.aux_batch_stride = desc.aux_batch_stride;
  if (!bit_mask && epilogue.aux_type != call.problem.c_type) {
    return refuse.unsupported("an auxiliary matrix of another type than D");
  }
  if (is_row_major(d)) {
    return refuse.unsupported("an auxiliary matrix with D in row order");
  }
  const int64_t step = bit_mask ? 128 : 8;
  if (desc.aux_ld < call.problem.m || desc.aux_ld % step != 0 ||
      desc.aux_batch_stride % step != 0) {
    return refuse.invalid("the auxiliary leading dimension " + std::to_string(desc.aux_ld) +
                          " (batch stride " + std::to_string(desc.aux_batch_stride) +
                          ") must be at least the rows of D and a multiple of " +
                          std::to_string(step));
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t make_call(const char* function, cublasLtHandle_t handle,
                         const Descriptors& descriptors, gemm::GemmCall& call) {
  const Refusal refuse{function};
  if (!gemm::is_alive(handle)) {
    return gemm::fail_call(function, CUBLAS_STATUS_NOT_INITIALIZED,
                           "the handle is null or was destroyed");
  }
  if (descriptors.operation == nullptr || descriptors.a == nullptr || descriptors.b == nullptr ||
      descriptors.c == nullptr || descriptors.d == nullptr) {
    return refuse.invalid("a descriptor is null");
  }
  const auto desc = load<MatmulDesc>(descriptors.operation);
  const auto a = load<Layout>(descriptors.a), b = load<Layout>(descriptors.b);
  const auto c = load<Layout>(descriptors.c), d = load<Layout>(descriptors.d);
  const std::pair<const char*, const Layout*> layouts[] = {
      {"A", &a}, {"B", &b}, {"C", &c}, {"D", &d}};
  for (const auto& [name, layout] : layouts) {
    if (const auto status = check_layout(refuse, name, *layout)) {
      return status;
    }
  }
  if (desc.transc != CUBLAS_OP_N || desc.fill_mode != CUBLAS_FILL_MODE_FULL) {
    return refuse.unsupported("a transposed C, or a fill mode other than full");
  }
  const bool transa = desc.transa != CUBLAS_OP_N, transb = desc.transb != CUBLAS_OP_N;
  const uint64_t m = transa ? a.columns : a.rows, k = transa ? a.rows : a.columns;
  const uint64_t k_of_b = transb ? b.columns : b.rows, n = transb ? b.rows : b.columns;
  if (k != k_of_b || c.rows != m || c.columns != n || d.rows != m || d.columns != n) {
    return refuse.invalid("the sizes do not fit: op(A) is " + std::to_string(m) + "x" +
                          std::to_string(k) + ", op(B) " + std::to_string(k_of_b) + "x" +
                          std::to_string(n) + ", D " + std::to_string(d.rows) + "x" +
                          std::to_string(d.columns));
  }
  if (a.batch_count != d.batch_count || b.batch_count != d.batch_count ||
      c.batch_count != d.batch_count || a.batch_mode != d.batch_mode ||
      b.batch_mode != d.batch_mode || c.batch_mode != d.batch_mode) {
    return refuse.invalid("the batch counts or modes of A, B, C and D differ");
  }
  if (desc.pointer_mode != CUBLASLT_POINTER_MODE_HOST &&
      desc.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE) {
    return refuse.unsupported("alpha or beta vectors");
  }
  const auto compute = static_cast<cublasComputeType_t>(desc.compute);
  const auto a_type = static_cast<cudaDataType>(a.type), b_type = static_cast<cudaDataType>(b.type);
  const auto c_type = static_cast<cudaDataType>(c.type);
  if (c.type != d.type || !gemm::is_supported(compute, static_cast<cudaDataType>(desc.scale_type),
                                              a_type, b_type, c_type)) {
    return refuse.unsupported(std::string("A ") + gemm::type_name(a_type) + ", B " +
                              gemm::type_name(b_type) + ", C " + gemm::type_name(c_type) + ", D " +
                              gemm::type_name(static_cast<cudaDataType>(d.type)) +
                              " with compute type " + std::to_string(desc.compute) +
                              " and scale type " + std::to_string(desc.scale_type));
  }
  if (const auto status = check_scaling(refuse, desc)) {
    return status;
  }
  call.problem = {
      .m = static_cast<int64_t>(m),
      .n = static_cast<int64_t>(n),
      .k = static_cast<int64_t>(k),
      .batch = d.batch_count,
      .transpose_a = transa != is_row_major(a),
      .transpose_b = transb != is_row_major(b),
      .a_type = a_type,
      .b_type = b_type,
      .c_type = c_type,
      .compute = compute,
      .rounding = gemm::input_rounding(compute, a_type, gemm::compute_capability(handle->device))};
  call.a = operand_of(a, false);
  call.b = operand_of(b, false);
  call.c = operand_of(c, true);
  call.d = operand_of(d, true);
  call.scale_type = static_cast<cudaDataType>(desc.scale_type);
  call.device = handle->device;
  return make_epilogue(refuse, desc, d, call);
}

int sm_count_of(const gemm::GemmCall& call, const MatmulDesc& desc) {
  const int all = gemm::sm_count(call.device);
  return desc.sm_count_target > 0 ? std::min(desc.sm_count_target, all) : all;
}

uint64_t implementation_flags(const gemm::Family& family, cublasComputeType_t compute,
                              cudaDataType a_type) {
  uint64_t flags =
      family.tensor_cores ? CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
  switch (gemm::accumulator_of(compute)) {
    case gemm::Accumulator::kHalf:
      flags |= CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F;
      break;
    case gemm::Accumulator::kFloat:
      flags |= CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
      break;
    case gemm::Accumulator::kDouble:
      flags |= CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F;
      break;
    case gemm::Accumulator::kInt32:
      flags |= CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I;
      break;
  }
  switch (a_type) {
    case CUDA_R_8I:
      flags = (flags & ~CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA) | CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA |
              CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I;
      break;
    case CUDA_R_16F:
      flags |= CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F;
      break;
    case CUDA_R_16BF:
      flags |= CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;
      break;
    case CUDA_R_64F:
      flags |= CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F;
      break;
    default:
      flags |= family.tensor_cores ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32
                                   : CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
      break;
  }
  return flags;
}

cublasStatus_t kernel_from(const char* function, const Algorithm& algorithm,
                           const gemm::GemmCall& call, gemm::KernelChoice& kernel) {
  const Refusal refuse{function};
  if (algorithm.state != Algorithm::kInitialised) {
    return refuse.invalid("the algorithm was not initialised");
  }
  const gemm::Problem& problem = call.problem;
  if (algorithm.compute != problem.compute || algorithm.a_type != problem.a_type ||
      algorithm.b_type != problem.b_type || algorithm.d_type != problem.c_type) {
    return refuse.invalid("the algorithm was initialised for other types");
  }
  const gemm::Family* family = gemm::find_family(algorithm.id);
  if (family == nullptr || !gemm::serves(*family, problem.compute, problem.a_type)) {
    return refuse.unsupported("algorithm " + std::to_string(algorithm.id) + " for these types");
  }
  const auto tile =
      std::find_if(family->tiles.begin(), family->tiles.end(), [&](const gemm::Tile& candidate) {
        return algorithm.tile == CUBLASLT_MATMUL_TILE_UNDEFINED ||
               algorithm.tile == static_cast<uint32_t>(candidate.id);
      });
  const bool splits = algorithm.split_k > 1;
  if (tile == family->tiles.end() ||
      (algorithm.stages != CUBLASLT_MATMUL_STAGES_UNDEFINED &&
       algorithm.stages != static_cast<uint32_t>(tile->stages)) ||
      algorithm.custom_option != 0 || algorithm.cta_swizzling > 1 || algorithm.inner_shape != 0) {
    return refuse.unsupported("the algorithm's tile, stages or options");
  }
  if (algorithm.split_k > gemm::kMaxSplitK ||
      (splits && algorithm.reduction_scheme != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) ||
      (splits && problem.c_type == CUDA_R_32I)) {
    return refuse.unsupported("the algorithm's split K or reduction scheme");
  }
  kernel = {family->id,
            tile->id,
            tile->m,
            tile->n,
            tile->stages,
            tile->slices,
            std::max(1, algorithm.split_k)};
  return CUBLAS_STATUS_SUCCESS;
}

std::vector<gemm::RankedKernel> search(const gemm::GemmCall& call, int sm_count,
                                       const Preference& preference, int only_algorithm) {
  auto ranked = gemm::rank_kernels(call.problem, {.sm_count = sm_count,
                                                  .max_workspace = preference.max_workspace,
                                                  .reduction_mask = preference.reduction_mask,
                                                  .max_waves = preference.max_waves,
                                                  .only_algorithm = only_algorithm});
  std::erase_if(ranked, [&](const gemm::RankedKernel& entry) {
    const gemm::Family* family = gemm::find_family(entry.kernel.algorithm);
    const uint64_t flags = implementation_flags(*family, call.problem.compute, call.problem.a_type);
    return (flags & ~preference.implementation_mask) != 0;
  });
  return ranked;
}

}  // namespace braid::vgpu::cublaslt
