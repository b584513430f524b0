#include "vgpu/cublas/gemm/epilogue.hpp"

#include <algorithm>
#include <cmath>

namespace braid::vgpu::gemm {
namespace {

// The tanh form of GELU, which cuBLASLt documents for its epilogues.
constexpr double kGeluScale = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

template <typename T>
T gelu(T x) {
  const T inner = T(kGeluScale) * (x + T(kGeluCubic) * x * x * x);
  return T(0.5) * x * (T(1) + std::tanh(inner));
}

template <typename T>
T gelu_slope(T x) {
  const T tanh_inner = std::tanh(T(kGeluScale) * (x + T(kGeluCubic) * x * x * x));
  const T inner_slope = T(kGeluScale) * (T(1) + T(3) * T(kGeluCubic) * x * x);
  return T(0.5) * (T(1) + tanh_inner) + T(0.5) * x * (T(1) - tanh_inner * tanh_inner) * inner_slope;
}

struct Place {
  int64_t offset = 0, stride = 1;
};

/// Where elements (row …, column) of C or D lie.
Place place_of(const Operand& operand, int64_t row, int64_t column) {
  return operand.row_major ? Place{row * operand.ld + column, operand.ld}
                           : Place{row + column * operand.ld, 1};
}

}  // namespace

template <typename T>
BlockWriter<T>::BlockWriter(const GemmCall& call, const Targets& targets, double alpha, double beta)
    : call_(call), targets_(targets), alpha_(static_cast<T>(alpha)), beta_(static_cast<T>(beta)) {
  const auto rows = static_cast<size_t>(call.problem.m);
  if (targets.bias != nullptr) {
    bias_.resize(rows);
    load_strided(call.epilogue.bias_type, targets.bias, 0, 1, call.problem.m, bias_.data());
  }
  switch (call.epilogue.gradient) {
    case Epilogue::Gradient::kOfD:
    case Epilogue::Gradient::kOfA:
      gradient_.assign(rows, T(0));
      break;
    case Epilogue::Gradient::kOfB:
      gradient_.assign(static_cast<size_t>(call.problem.n), T(0));
      break;
    case Epilogue::Gradient::kNone:
      break;
  }
}

template <typename T>
void BlockWriter<T>::write(const Block& block, T* sums) {
  buffer_.resize(static_cast<size_t>(block.rows));
  for (int64_t j = 0; j < block.columns; ++j) {
    T* column = sums + j * block.rows;
    if (call_.problem.c_type == CUDA_R_32I) {
      write_int32_column(block.row, block.rows, block.column + j, column);
    } else {
      write_column(block.row, block.rows, block.column + j, column);
    }
  }
}

template <typename T>
void BlockWriter<T>::write_column(int64_t row, int64_t rows, int64_t column, T* values) {
  for (int64_t i = 0; i < rows; ++i) {
    values[i] *= alpha_;
  }
  if (beta_ != T(0)) {
    const Place place = place_of(call_.c, row, column);
    load_strided(call_.problem.c_type, targets_.c, place.offset, place.stride, rows,
                 buffer_.data());
    for (int64_t i = 0; i < rows; ++i) {
      values[i] += beta_ * buffer_[static_cast<size_t>(i)];
    }
  }
  if (!bias_.empty()) {
    for (int64_t i = 0; i < rows; ++i) {
      values[i] += bias_[static_cast<size_t>(row + i)];
    }
  }
  apply_activation(row, rows, column, values);
  if (call_.epilogue.gradient == Epilogue::Gradient::kOfD) {
    for (int64_t i = 0; i < rows; ++i) {
      gradient_[static_cast<size_t>(row + i)] += values[i];
    }
  }
  const Place place = place_of(call_.d, row, column);
  store_strided(call_.problem.c_type, targets_.d, place.offset, place.stride, rows, values);
}

// Integer results wrap, as int32 accumulators do.
template <typename T>
void BlockWriter<T>::write_int32_column(int64_t row, int64_t rows, int64_t column, const T* sums) {
  const auto integer = [](auto value) {
    return static_cast<uint32_t>(static_cast<uint64_t>(static_cast<int64_t>(value)));
  };
  const Place from = place_of(call_.c, row, column);
  const Place to = place_of(call_.d, row, column);
  const auto* c = static_cast<const int32_t*>(targets_.c);
  auto* d = static_cast<int32_t*>(targets_.d);
  for (int64_t i = 0; i < rows; ++i) {
    uint32_t value = integer(alpha_) * integer(sums[i]);
    if (beta_ != T(0)) {
      value += integer(beta_) * integer(c[from.offset + i * from.stride]);
    }
    d[to.offset + i * to.stride] = static_cast<int32_t>(value);
  }
}

template <typename T>
void BlockWriter<T>::apply_activation(int64_t row, int64_t rows, int64_t column, T* values) {
  const Epilogue& epilogue = call_.epilogue;
  const int64_t aux_offset = row + column * epilogue.aux_ld;
  // One bit an element; rows of a block begin at a multiple of 8 and so do columns.
  auto* mask = static_cast<uint8_t*>(targets_.aux) + aux_offset / 8;
  switch (epilogue.activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      if (targets_.aux != nullptr) {
        for (int64_t i = 0; i < rows; i += 8) {
          unsigned bits = 0;
          for (int64_t bit = 0; bit < std::min<int64_t>(8, rows - i); ++bit) {
            bits |= (values[i + bit] > T(0) ? 1U : 0U) << bit;
          }
          mask[i / 8] = static_cast<uint8_t>(bits);
        }
      }
      for (int64_t i = 0; i < rows; ++i) {
        values[i] = values[i] < T(0) ? T(0) : values[i];
      }
      return;
    case Activation::kReluGradient:
      for (int64_t i = 0; i < rows; ++i) {
        values[i] = ((mask[i / 8] >> (i % 8)) & 1U) != 0 ? values[i] : T(0);
      }
      return;
    case Activation::kGelu:
      if (targets_.aux != nullptr) {
        store_strided(epilogue.aux_type, targets_.aux, aux_offset, 1, rows, values);
      }
      for (int64_t i = 0; i < rows; ++i) {
        values[i] = gelu(values[i]);
      }
      return;
    case Activation::kGeluGradient:
      load_strided(epilogue.aux_type, targets_.aux, aux_offset, 1, rows, buffer_.data());
      for (int64_t i = 0; i < rows; ++i) {
        values[i] *= gelu_slope(buffer_[static_cast<size_t>(i)]);
      }
      return;
  }
}

/// Adds up the stored matrix of gradient_.size() rows (or columns) along K.
template <typename T>
void BlockWriter<T>::sum_operand(const void* matrix, cudaDataType type, int64_t ld,
                                 bool along_columns) {
  const auto outputs = static_cast<int64_t>(gradient_.size());
  if (along_columns) {  // stored K × outputs: one column a result
    buffer_.resize(static_cast<size_t>(call_.problem.k));
    for (int64_t j = 0; j < outputs; ++j) {
      load_strided(type, matrix, j * ld, 1, call_.problem.k, buffer_.data());
      for (const T value : buffer_) {
        gradient_[static_cast<size_t>(j)] += value;
      }
    }
    return;
  }
  buffer_.resize(gradient_.size());
  for (int64_t depth = 0; depth < call_.problem.k; ++depth) {
    load_strided(type, matrix, depth * ld, 1, outputs, buffer_.data());
    for (size_t i = 0; i < buffer_.size(); ++i) {
      gradient_[i] += buffer_[i];
    }
  }
}

template <typename T>
void BlockWriter<T>::finish() {
  const Problem& problem = call_.problem;
  switch (call_.epilogue.gradient) {
    case Epilogue::Gradient::kNone:
      return;
    case Epilogue::Gradient::kOfD:
      break;
    case Epilogue::Gradient::kOfA:
      sum_operand(targets_.factors.a, problem.a_type, targets_.factors.lda, problem.transpose_a);
      break;
    case Epilogue::Gradient::kOfB:
      sum_operand(targets_.factors.b, problem.b_type, targets_.factors.ldb, !problem.transpose_b);
      break;
  }
  store_strided(call_.epilogue.bias_type, targets_.bias_gradient, 0, 1,
                static_cast<int64_t>(gradient_.size()), gradient_.data());
}

template class BlockWriter<float>;
template class BlockWriter<double>;

}  // namespace braid::vgpu::gemm
