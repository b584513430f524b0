// Runs GEMM calls on the device's executor.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "vgpu/core/vgpu.hpp"
#include "vgpu/cublas/gemm/access.hpp"
#include "vgpu/cublas/gemm/epilogue.hpp"
#include "vgpu/cublas/gemm/kernel_choice.hpp"
#include "vgpu/cublas/gemm/multiply.hpp"
#include "vgpu/cublas/gemm/problem.hpp"
#include "vgpu/cublas/gemm/types.hpp"

namespace braid::vgpu::gemm {
namespace {

/// A call on its way through the stream. Work may run more than once (a graph launched again), so
/// nothing in it changes but the partial sums.
struct Execution {
  GemmCall call;
  std::vector<std::byte> own_workspace;  // where the caller gave none; lives from kernel to kernel
};

/// What the kernel knows once it runs.
struct Scalars {
  double alpha = 0, beta = 0;
  bool multiplies = false;     // alpha is not zero, and there are terms
  bool reads_factors = false;  // the same, or a bias gradient reads A or B
};

/// Reads the scalars and checks every access. False: the device has taken an error.
bool prepare(const GemmCall& call, Scalars& scalars) {
  const bool computes = compute_enabled();
  const auto fault = [&call](CUresult result) {
    if (result != CUDA_SUCCESS) {
      set_device_error(call.device, result);
    }
    return result != CUDA_SUCCESS;
  };
  const auto read = [&](const Scalar& scalar, double& value) {
    const size_t bytes = std::max<size_t>(1, element_bytes(call.scale_type));
    if (scalar.device != nullptr) {
      if (reinterpret_cast<uintptr_t>(scalar.device) % bytes != 0) {
        return !fault(CUDA_ERROR_MISALIGNED_ADDRESS);
      }
      if (fault(check_access(call.device, scalar.device, bytes))) {
        return false;
      }
      if (!computes) {
        return true;
      }
    }
    value = scalar_value(call.scale_type,
                         scalar.device != nullptr ? scalar.device : scalar.value.data());
    return true;
  };
  if (!read(call.alpha, scalars.alpha) || !read(call.beta, scalars.beta)) {
    return false;
  }
  const Epilogue::Gradient gradient = call.epilogue.gradient;
  scalars.multiplies = scalars.alpha != 0 && call.problem.k > 0;
  scalars.reads_factors = scalars.multiplies || gradient == Epilogue::Gradient::kOfA ||
                          gradient == Epilogue::Gradient::kOfB;
  if (fault(check_operands(call, scalars.reads_factors, scalars.beta != 0, computes))) {
    return false;
  }
  if (call.kernel.split_k > 1 && call.workspace.pointer != nullptr &&
      fault(check_access(call.device, call.workspace.pointer,
                         workspace_bytes(call.problem, call.kernel)))) {
    return false;
  }
  return computes;
}

Targets targets_of(const GemmCall& call, const Scalars& scalars, int64_t index) {
  const auto advance = [index](const void* base, int64_t stride, size_t bytes) {
    return base == nullptr
               ? nullptr
               : static_cast<const char*>(base) + index * stride * static_cast<int64_t>(bytes);
  };
  const auto writable = [](const void* address) { return const_cast<void*>(address); };
  const Problem& problem = call.problem;
  const Epilogue& epilogue = call.epilogue;
  const size_t bias_element = element_bytes(epilogue.bias_type);
  Targets targets;
  targets.factors = {nullptr, nullptr, call.a.ld, call.b.ld};
  if (scalars.reads_factors) {
    targets.factors.a = matrix_of(call.a, problem.a_type, index);
    targets.factors.b = matrix_of(call.b, problem.b_type, index);
  }
  if (scalars.beta != 0) {
    targets.c = matrix_of(call.c, problem.c_type, index);
  }
  targets.d = writable(matrix_of(call.d, problem.c_type, index));
  targets.bias = advance(epilogue.bias, epilogue.bias_batch_stride, bias_element);
  targets.bias_gradient =
      writable(advance(epilogue.bias_gradient, epilogue.bias_batch_stride, bias_element));
  const bool bit_mask =
      epilogue.activation == Activation::kRelu || epilogue.activation == Activation::kReluGradient;
  targets.aux = writable(bit_mask ? advance(epilogue.aux, epilogue.aux_batch_stride / 8, 1)
                                  : advance(epilogue.aux, epilogue.aux_batch_stride,
                                            element_bytes(epilogue.aux_type)));
  return targets;
}

/// Calls `body` with the blocks of the result, rows of panels outermost.
template <typename Body>
void for_each_block(const Problem& problem, Body body) {
  constexpr int64_t kColumns = kPanelColumns * kPanelsAtOnce;
  for (int64_t row = 0; row < problem.m; row += kPanelRows) {
    for (int64_t column = 0; column < problem.n; column += kColumns) {
      body(Block{row, std::min(kPanelRows, problem.m - row), column,
                 std::min(kColumns, problem.n - column)});
    }
  }
}

size_t element_count(const Block& block) { return static_cast<size_t>(block.rows * block.columns); }

/// One executor's accumulators, kept between GEMMs.
template <typename T>
std::vector<T>& accumulators() {
  thread_local std::vector<T> sums;
  return sums;
}

template <typename T>
void run_whole(const GemmCall& call, const Scalars& scalars) {
  const Problem& problem = call.problem;
  for (int64_t index = 0; index < problem.batch; ++index) {
    const Targets targets = targets_of(call, scalars, index);
    BlockWriter<T> writer(call, targets, scalars.alpha, scalars.beta);
    for_each_block(problem, [&](const Block& block) {
      std::vector<T>& sums = accumulators<T>();
      sums.resize(std::max(sums.size(), element_count(block)));
      if (scalars.multiplies) {
        multiply(problem, targets.factors, block, 0, problem.k, call.kernel.slices, sums.data());
      } else {
        std::fill_n(sums.data(), element_count(block), T(0));
      }
      writer.write(block, sums.data());
    });
    writer.finish();
  }
}

template <typename T>
T* partial_sums(Execution& execution, int64_t index, int part) {
  const Problem& problem = execution.call.problem;
  auto* base = execution.call.workspace.pointer != nullptr
                   ? static_cast<T*>(execution.call.workspace.pointer)
                   : reinterpret_cast<T*>(execution.own_workspace.data());
  return base + (index * execution.call.kernel.split_k + part) * problem.m * problem.n;
}

/// First kernel of a split K: the sums of every part into the workspace.
template <typename T>
void run_parts(Execution& execution, const Scalars& scalars) {
  const GemmCall& call = execution.call;
  const Problem& problem = call.problem;
  for (int64_t index = 0; scalars.multiplies && index < problem.batch; ++index) {
    const Targets targets = targets_of(call, scalars, index);
    for (int part = 0; part < call.kernel.split_k; ++part) {
      const auto [begin, end] = depth_range(problem.k, call.kernel.split_k, part);
      T* const out = partial_sums<T>(execution, index, part);
      for_each_block(problem, [&, begin = begin, end = end](const Block& block) {
        std::vector<T>& sums = accumulators<T>();
        sums.resize(std::max(sums.size(), element_count(block)));
        multiply(problem, targets.factors, block, begin, end, call.kernel.slices, sums.data());
        for (int64_t j = 0; j < block.columns; ++j) {
          std::copy_n(sums.data() + j * block.rows, block.rows,
                      out + (block.column + j) * problem.m + block.row);
        }
      });
    }
  }
}

/// Second kernel of a split K: adds the parts in order and finishes the result.
template <typename T>
void join_parts(Execution& execution, const Scalars& scalars) {
  const GemmCall& call = execution.call;
  const Problem& problem = call.problem;
  for (int64_t index = 0; index < problem.batch; ++index) {
    BlockWriter<T> writer(call, targets_of(call, scalars, index), scalars.alpha, scalars.beta);
    for_each_block(problem, [&](const Block& block) {
      std::vector<T>& sums = accumulators<T>();
      sums.resize(std::max(sums.size(), element_count(block)));
      std::fill_n(sums.data(), element_count(block), T(0));
      for (int part = 0; scalars.multiplies && part < call.kernel.split_k; ++part) {
        const T* const in = partial_sums<T>(execution, index, part);
        for (int64_t j = 0; j < block.columns; ++j) {
          const T* const column = in + (block.column + j) * problem.m + block.row;
          T* const sum = sums.data() + j * block.rows;
          for (int64_t i = 0; i < block.rows; ++i) {
            sum[i] += column[i];
          }
        }
      }
      writer.write(block, sums.data());
    });
    writer.finish();
  }
}

bool uses_double(const Problem& problem) {
  const Accumulator accumulator = accumulator_of(problem.compute);
  return accumulator == Accumulator::kDouble || accumulator == Accumulator::kInt32;
}

Step run_first(Execution& execution) {
  Scalars scalars;
  if (prepare(execution.call, scalars)) {
    const bool wide = uses_double(execution.call.problem);
    if (execution.call.kernel.split_k > 1) {
      if (execution.call.workspace.pointer == nullptr) {
        execution.own_workspace.resize(
            workspace_bytes(execution.call.problem, execution.call.kernel));
      }
      wide ? run_parts<double>(execution, scalars) : run_parts<float>(execution, scalars);
    } else {
      wide ? run_whole<double>(execution.call, scalars) : run_whole<float>(execution.call, scalars);
    }
  }
  return Step::kDone;
}

Step run_second(Execution& execution) {
  Scalars scalars;
  if (prepare(execution.call, scalars)) {
    uses_double(execution.call.problem) ? join_parts<double>(execution, scalars)
                                        : join_parts<float>(execution, scalars);
  }
  execution.own_workspace = {};
  return Step::kDone;
}

unsigned grid_size(int64_t count, int tile) {
  return static_cast<unsigned>((count + tile - 1) / tile);
}

KernelShape main_shape(const GemmCall& call) {
  const Problem& problem = call.problem;
  const auto& box = devices();
  const int capability = box[static_cast<size_t>(call.device)].compute_capability;
  KernelShape shape;
  shape.name = kernel_name(problem, call.kernel, capability);
  shape.grid[0] = grid_size(problem.m, call.kernel.tile_m);
  shape.grid[1] = grid_size(problem.n, call.kernel.tile_n);
  shape.grid[2] = static_cast<unsigned>(problem.batch * call.kernel.split_k);
  shape.block[0] = call.kernel.tile_m * call.kernel.tile_n >= 128 * 128 ? 256 : 128;
  // Three stages of both operands' tiles, 32 deep.
  shape.shared_bytes = static_cast<unsigned>((call.kernel.tile_m + call.kernel.tile_n) * 32 * 3 *
                                             static_cast<int>(element_bytes(problem.a_type)));
  return shape;
}

}  // namespace

cublasStatus_t enqueue(const GemmCall& call) {
  if (call.problem.m == 0 || call.problem.n == 0 || call.problem.batch == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const bool splits = call.kernel.split_k > 1;
  const KernelShape shape = main_shape(call);
  const CUstream stream = call.stream;
  const auto execution = std::make_shared<Execution>();
  KernelShape join;
  join.name = "cublasLt::splitKreduce_kernel";
  join.grid[0] = grid_size(call.problem.m, 128);
  join.grid[1] = static_cast<unsigned>(call.problem.n);
  join.grid[2] = static_cast<unsigned>(call.problem.batch);
  join.block[0] = 128;
  execution->call = call;
  CUresult result =
      launch(stream, shape, Work{shape.name, [execution] { return run_first(*execution); }});
  if (result == CUDA_SUCCESS && splits) {
    result = launch(stream, join, Work{join.name, [execution] { return run_second(*execution); }});
  }
  return status_from(result);
}

cublasStatus_t status_from(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_DEINITIALIZED:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return CUBLAS_STATUS_ALLOC_FAILED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

}  // namespace braid::vgpu::gemm
